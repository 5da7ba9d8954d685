package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// sentBytes returns what an upstream has sent to followers, by the metrics of its web server.
func sentBytes(ctx context.Context, address string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "syncd_serve_sent_bytes_total "); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the upstream has no syncd_serve_sent_bytes_total")
}
