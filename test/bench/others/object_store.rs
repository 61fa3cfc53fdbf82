//! bench/others/object_store.rs: conditional requests with object_store on one thread (tokio's
//! current_thread runtime), one after the other over one connection:
//!
//!     object_store URL CA_FILE GET|PUT ROUNDS REQUESTS      CA_FILE is "" for plain HTTP
//!
//! Prints the CPU time of a request, user and system, for each round. A PUT is made conditional by
//! the ETag of the PUT before it (If-Match).

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    Certificate, ClientOptions, ObjectStore, ObjectStoreExt, PutMode, UpdateVersion,
};

const RECORD: &str = "a text as long as a lockfile: ";
const LENGTH: usize = 274;

struct Client {
    store: AmazonS3,
    key: Path,
    version: Option<UpdateVersion>,
    writes: u32,
}

impl Client {
    fn open(url: &str, ca_file: &str) -> Client {
        let mut options = ClientOptions::new().with_allow_http(ca_file.is_empty());
        if !ca_file.is_empty() {
            let pem = std::fs::read(ca_file).expect("cannot read the CA file");
            let ca = Certificate::from_pem(&pem).expect("no certificate in the CA file");
            options = options.with_root_certificate(ca);
        }
        let store = AmazonS3Builder::new()
            .with_endpoint(url)
            .with_region("us-east-1")
            .with_bucket_name("bench")
            .with_access_key_id("test")
            .with_secret_access_key("testtest")
            .with_client_options(options)
            .build()
            .expect("cannot make a store");
        Client {
            store,
            key: Path::from("locks/rust1.json"),
            version: None,
            writes: 0,
        }
    }

    async fn get(&self) {
        let reply = self.store.get(&self.key).await.expect("GET failed");
        let body = reply.bytes().await.expect("GET failed");
        assert!(body.len() == LENGTH && body.starts_with(RECORD.as_bytes()));
    }

    async fn put(&mut self) {
        self.writes += 1;
        let body = format!("{RECORD}{:0>1$}", self.writes, LENGTH - RECORD.len());
        let mode = match self.version.take() {
            Some(version) => PutMode::Update(version),
            None => PutMode::Overwrite,
        };
        let put = self.store.put_opts(&self.key, body.into(), mode.into());
        self.version = Some(put.await.expect("PUT failed").into());
    }

    async fn request(&mut self, put: bool) {
        if put {
            self.put().await;
        } else {
            self.get().await;
        }
    }
}

fn cpu_us() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    us(usage.ru_utime) + us(usage.ru_stime)
}

async fn measure(url: &str, ca_file: &str, put: bool, rounds: u32, requests: u32) {
    let mut client = Client::open(url, ca_file);
    client.put().await; // what the GETs get
    for _ in 0..3 {
        client.request(put).await; // warms it: connection, buffers
    }
    let name = format!(
        "object_store signed {}{}",
        if put { "PUT" } else { "GET" },
        if ca_file.is_empty() { "" } else { ", TLS" }
    );
    print!("  {name:<40}");
    for _ in 0..rounds {
        let before = cpu_us();
        for _ in 0..requests {
            client.request(put).await;
        }
        print!(" {:8.1}", (cpu_us() - before) / f64::from(requests));
    }
    println!(" us");
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, url, ca_file, method, rounds, requests] = &args[..] else {
        panic!("usage: object_store URL CA_FILE GET|PUT ROUNDS REQUESTS");
    };
    let rounds = rounds.parse().expect("ROUNDS is no number");
    let requests = requests.parse().expect("REQUESTS is no number");
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("no runtime")
        .block_on(measure(url, ca_file, method == "PUT", rounds, requests));
}
