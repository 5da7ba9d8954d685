package gazetteer

var (
	women = []string{"Abigail", "Bea", "Clara", "Delia", "Edith", "Fern", "Greta", "Hazel", "Ines", "Joan",
		"Kit", "Lena", "Mabel", "Nora", "Olive", "Pearl", "Ruth", "Selma", "Tess", "Vera"}
	men = []string{"Abel", "Boyd", "Cyrus", "Dale", "Emil", "Floyd", "Grant", "Hugh", "Ira", "Joel",
		"Karl", "Lyle", "Miles", "Ned", "Otto", "Percy", "Roy", "Silas", "Tobias", "Wade"}
	lastNames = []string{"Ashdown", "Barrow", "Copper", "Dunmore", "Elder", "Fenwick", "Garland", "Hollis", "Ingram",
		"Jessup", "Kettle", "Lockhart", "Mercer", "Northway", "Oakley", "Prentice", "Rowntree", "Sorrel", "Tully",
		"Underhill", "Vance", "Wickham", "Yarrow", "Thistle", "Marsh", "Harper", "Coldwell", "Brooks"}

	firmNames = []string{"Sunflower", "Prairie", "Copperfield", "Kingfisher", "Blue Barn", "Cottonwood", "Three Bridges", "Lantern"}
	titles    = []string{"Owner", "Manager", "President", "Director"}

	lenders = []string{"Quill County Savings Bank", "Plainsman Mutual Bank", "Teasel Farmers Credit Union", "Lantern Home Loans"}

	titleCompanies = []string{"Prairie Title Co", "Riverbend Abstract and Title", "Harrow Escrow Services"}

	constructions = []string{"Wood frame", "Masonry", "Brick veneer"}
	exteriors     = []string{"Vinyl siding", "Brick", "Wood siding", "Stucco"}
	roofs         = []string{"Asphalt shingle", "Metal", "Wood shake"}
	foundations   = []string{"Slab", "Crawl space", "Basement"}
	heatings      = []string{"Forced air", "Heat pump", "Baseboard"}
	coolings      = []string{"Central", "Window unit", "Evaporative"}
)

type trade struct{ name, sic, naics string }

var trades = []trade{
	{"Hardware", "52510401", "444140"},
	{"Bakery", "54610000", "311811"},
	{"Auto Repair", "75380000", "811111"},
	{"Books", "59420000", "459210"},
	{"Dental Clinic", "80210000", "621210"},
	{"Feed and Seed", "51910200", "424910"},
	{"Cafe", "58120304", "722515"},
	{"Freight Depot", "42250000", "493110"},
	{"Plumbing", "17110400", "238220"},
	{"Insurance Agency", "64110000", "524210"},
	{"Florist", "59920000", "459310"},
}
