//! A loopback HTTP/1.1 server with the parts that the vendors' clients use: keep-alive, bodies by length or in chunks,
//! and answers as one body or as an event stream.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

/// One request, read to its end before the handler gets it.
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

type Stream = Box<dyn FnOnce(&mut Chunks<'_>) -> io::Result<()> + Send>;

enum Body {
    Whole(Vec<u8>),
    Stream(Stream),
}

/// The behaviour of a service apart from its script.
#[derive(Clone, Default)]
pub struct Service {
    /// Sent with every answer.
    pub headers: Vec<(String, String)>,
    /// The status with which every request is refused.
    pub refuses: Option<u16>,
    /// The model thinks before each answer.
    pub thinks: bool,
    /// So many of the first replies stop at the output cap.
    pub cut: usize,
}

pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

impl Response {
    pub fn json(value: &Value) -> Response {
        Response::bytes(200, "application/json", value.to_string().into_bytes())
    }

    pub fn bytes(status: u16, kind: &str, body: Vec<u8>) -> Response {
        Response { status, headers: vec![("content-type".into(), kind.into())], body: Body::Whole(body) }
    }

    /// The response with these headers added.
    pub fn with(mut self, headers: &[(String, String)]) -> Response {
        self.headers.extend(headers.iter().cloned());
        self
    }

    /// An event stream. The closure writes each event when it happens.
    pub fn events(write: impl FnOnce(&mut Chunks<'_>) -> io::Result<()> + Send + 'static) -> Response {
        Response {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/event-stream".into()),
                ("cache-control".into(), "no-cache".into()),
            ],
            body: Body::Stream(Box::new(write)),
        }
    }
}

/// The writing end of a chunked answer.
pub struct Chunks<'a>(&'a mut TcpStream);

impl Chunks<'_> {
    /// Send one server-sent event at once, in a chunk of its own.
    pub fn event(&mut self, name: &str, data: &Value) -> io::Result<()> {
        self.raw(format!("event: {name}\ndata: {data}\n\n").as_bytes())
    }

    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.0.write_all(&chunk)
    }
}

type Handler = Arc<dyn Fn(&Request) -> Response + Send + Sync>;

/// Listens on 127.0.0.1 until dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub fn start(handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let handler: Handler = Arc::new(handler);
        let stopping = Arc::clone(&stop);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let handler = Arc::clone(&handler);
                // A client may hang up in the middle of an answer.
                thread::spawn(move || drop(serve(stream, &handler)));
            }
        });
        Ok(Server { address, stop })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // `accept` has no deadline; a connection of our own wakes it up.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(mut stream: TcpStream, handler: &Handler) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = read_request(&mut reader, &mut stream)? {
        let close = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let response = handler(&request);
        write_response(&mut stream, response, request.method == "HEAD")?;
        if close {
            break;
        }
    }
    Ok(())
}

fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    if reader.read_line(&mut text)? == 0 {
        return Ok(None);
    }
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_string()))
}

fn cut_short() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}

fn read_request(reader: &mut impl BufRead, stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let Some(first) = line(reader)? else {
        return Ok(None);
    };
    let mut words = first.split(' ');
    let method = words.next().unwrap_or_default().to_string();
    let path = words.next().unwrap_or_default().to_string();
    let mut headers = Vec::new();
    loop {
        let text = line(reader)?.ok_or_else(cut_short)?;
        if text.is_empty() {
            break;
        }
        if let Some((key, value)) = text.split_once(':') {
            headers.push((key.trim().to_string(), value.trim().to_string()));
        }
    }
    let mut request = Request { method, path, headers, body: Vec::new() };
    if request.header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    request.body = read_body(reader, &request)?;
    Ok(Some(request))
}

fn read_body(reader: &mut impl BufRead, request: &Request) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if request.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let size = line(reader)?.ok_or_else(cut_short)?;
            let size = size.split(';').next().unwrap_or_default().trim().to_string();
            let size = u64::from_str_radix(&size, 16).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            reader.by_ref().take(size).read_to_end(&mut body)?;
            line(reader)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let size = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    reader.by_ref().take(size).read_to_end(&mut body)?;
    Ok(body)
}

fn write_response(stream: &mut TcpStream, response: Response, head_only: bool) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} {}\r\n", response.status, phrase(response.status));
    for (key, value) in &response.headers {
        head.push_str(&format!("{key}: {value}\r\n"));
    }
    match response.body {
        Body::Whole(body) => {
            head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
            let mut whole = head.into_bytes();
            if !head_only {
                whole.extend_from_slice(&body);
            }
            stream.write_all(&whole)
        }
        Body::Stream(write) => {
            head.push_str("transfer-encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            write(&mut Chunks(stream))?;
            stream.write_all(b"0\r\n\r\n")
        }
    }
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        _ => "Status",
    }
}
