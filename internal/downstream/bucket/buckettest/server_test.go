package buckettest_test

import (
	"net/http"
	"os"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
)

func TestServerKeepsItsAddressAndObjectsWhenItIsKilled(t *testing.T) {
	server := buckettest.New(t)
	front := buckettest.NewFront(t, server)
	if status := get(t, front.Endpoint); status != http.StatusForbidden {
		t.Errorf("status %d without a signature", status)
	}
	server.Kill()
	if status := get(t, front.Endpoint); status != 0 {
		t.Errorf("status %d of a killed server", status)
	}
	server.Start()
	if status := get(t, front.Endpoint); status != http.StatusForbidden {
		t.Errorf("status %d after the start", status)
	}
	front.Answer(buckettest.SlowDown)
	if status := get(t, front.Endpoint); status != http.StatusServiceUnavailable {
		t.Errorf("status %d of a front that asks to slow down", status)
	}
	requests := front.Requests()
	if len(requests) != 4 || requests[0].Name != "current.json" || len(front.Requests()) != 0 {
		t.Errorf("%+v", requests)
	}
	if _, err := os.Stat(server.Path("")); err != nil {
		t.Error(err)
	}
}

// get asks for an object and returns the status, 0 without an answer.
func get(t *testing.T, endpoint string) int {
	t.Helper()
	answer, err := http.Get(endpoint + "/" + buckettest.Bucket + "/current.json")
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}
