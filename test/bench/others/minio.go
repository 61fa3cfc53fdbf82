// bench/others/minio.go: conditional requests with minio-go, one after the other over one
// connection:
//
//	minio URL CA_FILE GET|PUT ROUNDS REQUESTS      CA_FILE is "" for plain HTTP
//
// Prints the CPU time of a request, user and system, for each round: that of the whole process, the
// garbage collector included. A PUT is made conditional by the ETag of the PUT before it (If-Match),
// and its body is hashed before, as s3lect's is; minio-go would send it in signed chunks else.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	bucket = "bench"
	key    = "locks/minio.json"
	record = "a text as long as a lockfile: "
	length = 274
)

type client struct {
	core   minio.Core
	etag   string
	writes int
}

func require(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func open(endpoint, caFile string) *client {
	u, err := url.Parse(endpoint)
	require(err)
	transport, err := minio.DefaultTransport(caFile != "")
	require(err)
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		require(err)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds:        credentials.NewStaticV4("test", "testtest", ""),
		Secure:       caFile != "",
		Transport:    transport,
		Region:       "us-east-1",
		BucketLookup: minio.BucketLookupPath,
	})
	require(err)
	return &client{core: minio.Core{Client: c}}
}

func (c *client) get() {
	body, _, _, err := c.core.GetObject(context.Background(), bucket, key, minio.GetObjectOptions{})
	require(err)
	data, err := io.ReadAll(body)
	require(err)
	require(body.Close())
	if len(data) != length || !strings.HasPrefix(string(data), record) {
		log.Fatal("a wrong body")
	}
}

func (c *client) put() {
	c.writes++
	body := fmt.Sprintf("%s%0*d", record, length-len(record), c.writes)
	hash := sha256.Sum256([]byte(body))
	options := minio.PutObjectOptions{DisableContentSha256: true} // not in chunks
	if c.etag != "" {
		options.SetMatchETag(c.etag)
	}
	info, err := c.core.PutObject(context.Background(), bucket, key, strings.NewReader(body),
		int64(len(body)), "", hex.EncodeToString(hash[:]), options)
	require(err)
	c.etag = info.ETag
}

func cpuMicroseconds() float64 {
	var usage syscall.Rusage
	require(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
}

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: minio URL CA_FILE GET|PUT ROUNDS REQUESTS")
	}
	rounds, err := strconv.Atoi(os.Args[4])
	require(err)
	requests, err := strconv.Atoi(os.Args[5])
	require(err)
	c := open(os.Args[1], os.Args[2])
	c.put() // what the GETs get
	request := c.get
	if os.Args[3] == "PUT" {
		request = c.put
	}
	for range 3 { // warms it: connection, buffers
		request()
	}
	name := "minio-go signed " + os.Args[3]
	if os.Args[2] != "" {
		name += ", TLS"
	}
	fmt.Printf("  %-40s", name)
	for range rounds {
		before := cpuMicroseconds()
		for range requests {
			request()
		}
		fmt.Printf(" %8.1f", (cpuMicroseconds()-before)/float64(requests))
	}
	fmt.Println(" us")
}
