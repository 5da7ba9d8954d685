package trust

import (
	"strings"
	"testing"
	"time"

	"syncd/internal/manifest"
)

func signerOf(t *testing.T, c Chain, key *PrivateKey, valid time.Duration) *Signer {
	t.Helper()
	s, err := NewSigner(key, c, valid)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStatementIsKeptUntilAQuarterOfItsTime(t *testing.T) {
	key := newKey(t, "a")
	c := root(t, 1, key)
	s := signerOf(t, c, key, 48*time.Hour)
	sum, other := manifest.ObjectID{1}, manifest.ObjectID{2}
	first, err := s.Sign("", 7, sum, now)
	if err != nil {
		t.Fatal(err)
	}
	believed, signers, err := c.Newest().Believe([]byte(first))
	if err != nil || len(signers) != 1 || believed.Generation != 7 || believed.SHA256 != sum || !believed.Expires.Equal(now.Add(48*time.Hour)) {
		t.Fatalf("got %+v of %v, %v", believed, signers, err)
	}
	for name, row := range map[string]struct {
		before string
		number int
		sum    manifest.ObjectID
		at     time.Time
		keeps  bool
	}{
		"just before a quarter":   {first, 7, sum, now.Add(12*time.Hour - time.Second), true},
		"at a quarter":            {first, 7, sum, now.Add(12 * time.Hour), false},
		"another generation":      {first, 8, sum, now, false},
		"another text":            {first, 7, other, now, false},
		"a clock that went back":  {first, 7, sum, now.Add(-2 * time.Hour), false},
		"a clock that is behind":  {first, 7, sum, now.Add(-30 * time.Minute), true},
		"a signature that is off": {strings.Replace(first, "generation 7", "generation 8", 1), 8, sum, now, false},
		"no statement":            {"nonsense", 7, sum, now, false},
	} {
		got, err := s.Sign(row.before, row.number, row.sum, row.at)
		if err != nil || (got == row.before) != row.keeps {
			t.Errorf("%s: kept is %v, want %v (%v)", name, got == row.before, row.keeps, err)
		}
		if b, _, err := c.Newest().Believe([]byte(got)); err != nil || b.Generation != row.number || b.SHA256 != row.sum {
			t.Errorf("%s: the statement is not believed: %+v, %v", name, b, err)
		}
	}
}

func TestASecondSignerJoins(t *testing.T) {
	keys := newKeys(t, "a", "b", "c")
	c := root(t, 2, keys...)
	a, b := signerOf(t, c, keys[0], 48*time.Hour), signerOf(t, c, keys[1], 24*time.Hour)
	sum := manifest.ObjectID{1}
	alone, err := b.Sign("", 7, sum, now)
	if err != nil || b.Missing(alone) != 1 || b.Missing("") != 2 {
		t.Fatalf("%d signatures are missing, want 1 (%v)", b.Missing(alone), err)
	}
	if again, err := b.Sign(alone, 7, sum, now); again != alone || err != nil {
		t.Errorf("the same key signed again: %v", err)
	}
	forged := alone + strings.Replace(alone[strings.LastIndex(alone, "— b "):], "— b ", "— x ", 1)
	both, err := a.Sign(forged, 7, sum, now.Add(time.Hour))
	if err != nil || a.Missing(both) != 0 || strings.Contains(both, "— x ") || bodyOf([]byte(both)) != bodyOf([]byte(alone)) {
		t.Fatalf("the statement of both is\n%s(%v)", both, err)
	}
	third := signerOf(t, c, keys[2], time.Hour)
	if kept, err := signerOf(t, c, keys[2], 48*time.Hour).Sign(both, 7, sum, now); kept != both || err != nil {
		t.Errorf("a statement that is believed got another signature: %v", err)
	}
	if own, err := third.Sign(both, 7, sum, now); own == both || err != nil {
		t.Errorf("a host that signs for an hour kept a statement for a day: %v", err)
	}
}

func TestASignerNeedsAKeyThatIsTrusted(t *testing.T) {
	keys := newKeys(t, "a", "b")
	c := root(t, 1, keys[0])
	if _, err := NewSigner(keys[1], c, time.Hour); err == nil || !strings.Contains(err.Error(), "syncd trust add") {
		t.Errorf("a key that no follower counts: %v", err)
	}
	if _, err := NewSigner(keys[0], c, time.Second); err == nil {
		t.Error("a second is too short")
	}
	if _, err := signerOf(t, c, keys[0], time.Hour).Sign("", 1, manifest.ObjectID{1}, ends.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a trust text that has expired: %v", err)
	}
}
