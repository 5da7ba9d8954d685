package gazetteer

// county is an invented county with its cities.
type county struct {
	name, state, fips string
	areaCode          string // of telephones
	cities            []city
}

type city struct {
	name, zip, place string
	book             int    // the first part of its parcel numbers
	tract            string // census, 6 digits
	subdivision      string
	boxes            int // PO boxes, at the post office
	office           point
	streets          []street
}

// street is a line of houses from a point on, with odd numbers on one side and even
// numbers on the other.
type street struct {
	pre, name, suffix string
	heading           heading
	from              point
	first, houses     int         // the first number, and the count of numbers
	plus4             int         // of the odd side; the even side has the next
	page              int         // the second part of parcel numbers, likewise
	buildings         map[int]int // units by number
	firms             []int       // numbers of business addresses
	empty             []int       // numbers of empty lots
}

type point struct{ lat, lon float64 }

// heading is the direction of growing numbers, in degrees for a step of 20 metres.
type heading struct{ lat, lon float64 }

var (
	east  = heading{0, 0.00023}
	north = heading{0.00018, 0}
	south = heading{-0.00018, 0}
)

// The sample address of the documents. Its owner and its sale occur in all services.
const (
	sampleLine  = "12 Larkspur Way"
	sampleMAK   = "4400112233"
	sampleDate  = "2024-05-14"
	samplePrice = 315000
)

// fixedMAKs are the keys in the samples of the documents.
var fixedMAKs = map[string]string{
	sampleLine + " 66999":       sampleMAK,
	"1004 Wheelwright Rd 66999": "4400112299",
	"10 Station St 66998":       "4400113355",
}

// plan is the map of the world.
var plan = []county{
	{name: "Quill", state: "KS", fips: "20999", areaCode: "620", cities: []city{
		{name: "Elmstead", zip: "66999", place: "2020999", book: 14, tract: "950100", subdivision: "Elmstead Heath",
			boxes: 8, office: point{38.103060, -97.549400}, streets: []street{
				{name: "Larkspur", suffix: "Way", heading: east, from: point{38.104320, -97.553250}, first: 1, houses: 30,
					plus4: 1204, page: 219, empty: []int{27}},
				{name: "Teasel", suffix: "Ct", heading: east, from: point{38.105520, -97.553250}, first: 1, houses: 40,
					plus4: 1214, page: 229, buildings: map[int]int{3: 12, 40: 8}},
				{name: "Main", suffix: "St", heading: east, from: point{38.103120, -97.553250}, first: 100, houses: 36,
					plus4: 1224, page: 239, firms: []int{100, 103, 106, 107, 110, 114, 115, 121}},
				{pre: "N", name: "Harrow", suffix: "Ave", heading: north, from: point{38.103320, -97.554450}, first: 200, houses: 24,
					plus4: 1234, page: 249},
				{pre: "S", name: "Harrow", suffix: "Ave", heading: south, from: point{38.102920, -97.554450}, first: 200, houses: 20,
					plus4: 1244, page: 259, firms: []int{200}},
				{name: "Linden", suffix: "Loop", heading: east, from: point{38.106720, -97.553250}, first: 1, houses: 24,
					plus4: 1254, page: 269},
				{name: "Orchard", suffix: "Ln", heading: east, from: point{38.107920, -97.553250}, first: 300, houses: 20,
					plus4: 1264, page: 279, empty: []int{319}},
				{name: "Wheelwright", suffix: "Rd", heading: east, from: point{38.101920, -97.553250}, first: 1000, houses: 20,
					plus4: 1274, page: 289, firms: []int{1004, 1012}},
			}},
		{name: "Larkford", zip: "66998", place: "2020998", book: 22, tract: "950200", subdivision: "Mill Meadow",
			boxes: 4, office: point{38.164940, -97.488300}, streets: []street{
				{name: "Main", suffix: "St", heading: east, from: point{38.165000, -97.491000}, first: 100, houses: 24,
					plus4: 2104, page: 119, firms: []int{100, 105, 108, 111}},
				{name: "Mill", suffix: "Rd", heading: east, from: point{38.166200, -97.491000}, first: 1, houses: 20,
					plus4: 2114, page: 129},
				{name: "Sparrow", suffix: "Ln", heading: east, from: point{38.167400, -97.491000}, first: 1, houses: 20,
					plus4: 2124, page: 139, buildings: map[int]int{18: 6}},
				{name: "Station", suffix: "St", heading: south, from: point{38.164800, -97.491800}, first: 10, houses: 16,
					plus4: 2134, page: 149, firms: []int{10}},
			}},
	}},
	{name: "Teasel", state: "MO", fips: "29997", areaCode: "660", cities: []city{
		{name: "Marlow Bend", zip: "65997", place: "2929997", book: 31, tract: "970100", subdivision: "Ferry Landing",
			boxes: 3, office: point{38.402060, -92.547500}, streets: []street{
				{name: "River", suffix: "Rd", heading: east, from: point{38.402000, -92.550000}, first: 1, houses: 20,
					plus4: 3104, page: 319, firms: []int{2}},
				{name: "Ferry", suffix: "St", heading: north, from: point{38.402300, -92.551200}, first: 100, houses: 20,
					plus4: 3114, page: 329, firms: []int{100, 103}},
				{name: "Heron", suffix: "Ct", heading: east, from: point{38.403200, -92.550000}, first: 1, houses: 16,
					plus4: 3124, page: 339, buildings: map[int]int{7: 6}},
				{pre: "E", name: "Bend", suffix: "Ave", heading: east, from: point{38.404400, -92.550000}, first: 400, houses: 16,
					plus4: 3134, page: 349},
			}},
		{name: "Quillan", zip: "65996", place: "2929996", book: 38, tract: "970200", subdivision: "Quarry Edge",
			boxes: 0, streets: []street{
				{name: "Main", suffix: "St", heading: east, from: point{38.450000, -92.500000}, first: 100, houses: 20,
					plus4: 4104, page: 419, firms: []int{100, 102}},
				{name: "Quarry", suffix: "Ln", heading: east, from: point{38.451200, -92.500000}, first: 1, houses: 16,
					plus4: 4114, page: 429},
				{name: "Chapel", suffix: "St", heading: north, from: point{38.450300, -92.501000}, first: 1, houses: 12,
					plus4: 4124, page: 439},
			}},
	}},
}
