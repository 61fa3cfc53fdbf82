// A candidate by the rules of the Go package S3lect, as docs/safety.md states them: one look at each
// interval, wall clocks compared, only its own timeout, no end of its own. It is not that package,
// which the Go module proxy refuses; JSON, times, HTTP and TLS are Go's own, as there.
//
//	candidate LOCKFILE_URL ID ADDR CERT KEY CA
//
// Prints what happens, a line each: "leads", "renewed", "follows ID", "told by ID" (a peer's answer
// in place of a read), "asked" (it answered a peer), "released".
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	interval = 300 * time.Millisecond
	timeout  = 2500 * time.Millisecond
)

type record struct {
	LeaderID    string    `json:"leaderID,omitempty"`
	LeaderAddr  string    `json:"leaderAddr,omitempty"`
	LastUpdated time.Time `json:"lastUpdated"`
}

var (
	url, id, addr = os.Args[1], os.Args[2], os.Args[3]
	leads         atomic.Bool
	leader        record
	store         = http.Client{Timeout: time.Second}
	peers         http.Client
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "candidate:", err)
		os.Exit(1)
	}
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Signs a request to the store with the keys of the tests; `condition` is a header, or "".
func sign(r *http.Request, body []byte, condition string) {
	now := time.Now().UTC().Format("20060102T150405Z")
	hash := fmt.Sprintf("%x", sha256.Sum256(body))
	r.Header.Set("x-amz-date", now)
	r.Header.Set("x-amz-content-sha256", hash)
	names, lines := "host;x-amz-content-sha256;x-amz-date",
		"host:"+r.URL.Host+"\nx-amz-content-sha256:"+hash+"\nx-amz-date:"+now+"\n"
	if condition != "" {
		names = strings.Replace(names, "host;", "host;"+condition+";", 1)
		lines = strings.Replace(lines, "\nx", "\n"+condition+":"+r.Header.Get(condition)+"\nx", 1)
	}
	scope := now[:8] + "/us-east-1/s3/aws4_request"
	canonical := strings.Join([]string{r.Method, r.URL.Path, "", lines, names, hash}, "\n")
	key := []byte("AWS4testtest")
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	signature := mac(key, fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", now, scope, sha256.Sum256([]byte(canonical))))
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=test/%s, SignedHeaders=%s, Signature=%x",
		scope, names, signature))
}

// The record at an address, and its ETag; no record where nothing is.
func read(client *http.Client, from string) (*record, string, error) {
	request, err := http.NewRequest(http.MethodGet, from, nil)
	check(err)
	if client == &store {
		sign(request, nil, "")
	}
	reply, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if reply.StatusCode == http.StatusNotFound && client == &store {
		return nil, "", nil
	}
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", reply.StatusCode)
	}
	var r record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return &r, reply.Header.Get("ETag"), err
}

func write(at time.Time, etag string) bool {
	text, err := json.Marshal(record{id, addr, at})
	check(err)
	request, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(text))
	check(err)
	condition := "if-match"
	if etag == "" {
		condition, etag = "if-none-match", "*"
	}
	request.Header.Set(condition, etag)
	sign(request, text, condition)
	reply, err := store.Do(request)
	if err != nil {
		return false
	}
	reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}

func look() {
	var found *record
	var etag string
	err := fmt.Errorf("no peer")
	if !leads.Load() && leader.LeaderAddr != "" && leader.LeaderID != id {
		found, _, err = read(&peers, "https://"+leader.LeaderAddr+"/health/leadership")
		if err == nil {
			fmt.Println("told by", found.LeaderID)
		}
	}
	if err != nil {
		found, etag, err = read(&store, url)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "candidate:", err)
		return
	}
	if found != nil {
		leader = *found
		if time.Since(found.LastUpdated) < timeout && found.LeaderID != id {
			leads.Store(false)
			fmt.Println("follows", found.LeaderID)
			return
		}
	}
	if write(time.Now(), etag) {
		if leads.Swap(true) {
			fmt.Println("renewed")
		} else {
			fmt.Println("leads")
		}
	}
}

func answer(w http.ResponseWriter, r *http.Request) {
	if !leads.Load() {
		http.Error(w, "Not leader", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	check(json.NewEncoder(w).Encode(record{id, addr, time.Now()}))
	fmt.Println("asked")
}

func main() {
	authority, err := os.ReadFile(os.Args[6])
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	peers = http.Client{Timeout: time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	http.HandleFunc("/health/leadership", answer)
	go func() { check(http.ListenAndServeTLS(addr, os.Args[4], os.Args[5], nil)) }()

	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	ticks := time.Tick(interval)
	for look(); ; look() {
		select {
		case <-ticks:
		case <-end:
			found, etag, err := read(&store, url)
			if leads.Load() && err == nil && found != nil && found.LeaderID == id && write(time.Time{}, etag) {
				fmt.Println("released")
			}
			return
		}
	}
}
