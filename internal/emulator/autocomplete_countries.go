package emulator

import "strings"

// country is one of those that GlobalExpressCountry knows.
type country struct {
	english, spanish, french, german, chinese string
	char2, char3, number                      string
}

// names are in the order in which a search looks at them.
func (c country) names() []string {
	return []string{c.english, c.spanish, c.french, c.german, c.chinese}
}

// matching returns the first name that holds a term, without case.
func (c country) matching(term string) (name string, ok bool) {
	for _, name := range c.names() {
		if strings.Contains(strings.ToLower(name), strings.ToLower(term)) {
			return name, true
		}
	}
	return "", false
}

var countries = []country{
	{"Australia", "Australia", "Australie", "Australien", "澳大利亚", "AU", "AUS", "036"},
	{"Austria", "Austria", "Autriche", "Österreich", "奥地利", "AT", "AUT", "040"},
	{"Belgium", "Bélgica", "Belgique", "Belgien", "比利时", "BE", "BEL", "056"},
	{"Brazil", "Brasil", "Brésil", "Brasilien", "巴西", "BR", "BRA", "076"},
	{"Canada", "Canadá", "Canada", "Kanada", "加拿大", "CA", "CAN", "124"},
	{"China", "China", "Chine", "China", "中国", "CN", "CHN", "156"},
	{"Denmark", "Dinamarca", "Danemark", "Dänemark", "丹麦", "DK", "DNK", "208"},
	{"Finland", "Finlandia", "Finlande", "Finnland", "芬兰", "FI", "FIN", "246"},
	{"France", "Francia", "France", "Frankreich", "法国", "FR", "FRA", "250"},
	{"Germany", "Alemania", "Allemagne", "Deutschland", "德国", "DE", "DEU", "276"},
	{"Greece", "Grecia", "Grèce", "Griechenland", "希腊", "GR", "GRC", "300"},
	{"Iceland", "Islandia", "Islande", "Island", "冰岛", "IS", "ISL", "352"},
	{"India", "India", "Inde", "Indien", "印度", "IN", "IND", "356"},
	{"Ireland", "Irlanda", "Irlande", "Irland", "爱尔兰", "IE", "IRL", "372"},
	{"Italy", "Italia", "Italie", "Italien", "意大利", "IT", "ITA", "380"},
	{"Japan", "Japón", "Japon", "Japan", "日本", "JP", "JPN", "392"},
	{"Mexico", "México", "Mexique", "Mexiko", "墨西哥", "MX", "MEX", "484"},
	{"Netherlands", "Países Bajos", "Pays-Bas", "Niederlande", "荷兰", "NL", "NLD", "528"},
	{"New Zealand", "Nueva Zelanda", "Nouvelle-Zélande", "Neuseeland", "新西兰", "NZ", "NZL", "554"},
	{"Norway", "Noruega", "Norvège", "Norwegen", "挪威", "NO", "NOR", "578"},
	{"Poland", "Polonia", "Pologne", "Polen", "波兰", "PL", "POL", "616"},
	{"Portugal", "Portugal", "Portugal", "Portugal", "葡萄牙", "PT", "PRT", "620"},
	{"Spain", "España", "Espagne", "Spanien", "西班牙", "ES", "ESP", "724"},
	{"Sweden", "Suecia", "Suède", "Schweden", "瑞典", "SE", "SWE", "752"},
	{"Switzerland", "Suiza", "Suisse", "Schweiz", "瑞士", "CH", "CHE", "756"},
	{"United Kingdom", "Reino Unido", "Royaume-Uni", "Vereinigtes Königreich", "英国", "GB", "GBR", "826"},
	{"United States Of America", "Estados Unidos de América", "États-Unis d'Amérique", "Vereinigte Staaten von Amerika", "美国", "US", "USA", "840"},
}

// countryOperation searches the names of countries; country is the term.
func countryOperation() operation {
	op := completion(completeCountry)
	op.response = completionDocument("Response", "Result")
	return op
}

// GET /GlobalExpressCountry
func completeCountry(c *serviceCall) {
	if !c.require("country") {
		return
	}
	results := list{item: "Result"}
	for _, known := range countries {
		name, ok := known.matching(c.value("country"))
		if !ok {
			continue
		}
		results.rows = append(results.rows, fields{
			{"Country", name}, {"English", known.english}, {"Spanish", known.spanish},
			{"French", known.french}, {"German", known.german}, {"SimplifiedChinese", known.chinese},
			{"Char2ISO", known.char2}, {"Char3ISO", known.char3}, {"ISONumeric", known.number},
		})
	}
	code := "XS01"
	if len(results.rows) == 0 {
		code = "XS03"
	}
	c.reply(fields{{"ResultCode", code}, {"Results", results}})
}
