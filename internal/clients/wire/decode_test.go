package wire_test

import (
	"testing"

	"syncd/internal/clients/wire"
)

// An indented answer has space inside the elements of empty sub-objects.
func TestDecodeReadsABlankElementAsAnObject(t *testing.T) {
	v, err := wire.ParseXML([]byte("<R><Legal>\n  </Legal><Tax>1</Tax></R>"), wire.Schema{})
	if err != nil {
		t.Fatal(err)
	}
	var into struct {
		Legal, Tax struct{ Unit string }
		Unknown    wire.Object
	}
	wire.Decode(v.(wire.Object), &into, "Acme")
	if len(into.Unknown) != 1 || into.Unknown.Text("Tax") != "1" {
		t.Errorf("unknown %v, want Tax alone", into.Unknown)
	}
}

// A short body can hold a list whose Go value would take all memory.
func TestDecodeBoundsTheMemoryOfAList(t *testing.T) {
	type large struct {
		Room    [4096]byte
		Unknown wire.Object
	}
	for name, test := range map[string]struct {
		length  int
		unknown bool
	}{"large": {1000, false}, "too large": {100_000, true}} {
		t.Run(name, func(t *testing.T) {
			items := make([]wire.Value, test.length)
			var into struct {
				Records []large
				Unknown wire.Object
			}
			wire.Decode(wire.Object{{Name: "Records", Value: items}}, &into, "Acme")
			if kept := into.Unknown.Find("Records") >= 0; kept != test.unknown || len(into.Records) == test.length == test.unknown {
				t.Errorf("%d records, in Unknown: %v", len(into.Records), kept)
			}
		})
	}
}
