// The Go client that s3lect is compared with. See run.sh in this folder, which builds it.
module s3lect-bench-others

go 1.26.0

require github.com/minio/minio-go/v7 v7.4.1
