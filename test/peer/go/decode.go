// Reads records as the Go package S3lect does, with encoding/json into these three fields, and prints
// what it found: one line for each file.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

type record struct {
	LeaderID    string    `json:"leaderID"`
	LeaderAddr  string    `json:"leaderAddr"`
	LastUpdated time.Time `json:"lastUpdated"`
}

func main() {
	for _, name := range os.Args[1:] {
		var r record
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Printf("id=%s addr=%s ms=%d released=%v\n", r.LeaderID, r.LeaderAddr,
			r.LastUpdated.UnixMilli(), r.LastUpdated.IsZero())
	}
}
