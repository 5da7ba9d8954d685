package fsops

import "testing"

func TestNamesThatMeanSomethingElseOnWindowsAreRefused(t *testing.T) {
	for _, name := range []string{
		"CON", "con", "nul.txt", "NUL ", "aux .dat", "PRN", "COM1", "com9.dat", "LPT0", "LPT¹.x", "CONIN$", "conout$",
		"ews.txt:stream", "ews.txt::$DATA", "C:ews.txt", "a<b", "a>b", `a"b`, "a|b", "a?b", "a*b", `a\b`, "a/b", "a\x01b",
		"ews.txt.", "ews.txt ", "...", "EWS~1.TXT", "MDADDR~12", "a~1",
	} {
		if checkWindowsName(name) == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	for _, name := range []string{"ews.txt", "mdAddr.dat", "console.txt", "com.dat", "COM10", "nullable", ".hidden", "a b.txt", "straße.txt", "libmdAddr.so", "backup~.txt", "longer-name~1.txt"} {
		if err := checkWindowsName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
