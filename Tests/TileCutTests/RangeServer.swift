import Foundation
import LibC
import Synchronization

/// An HTTP server on the loopback interface that answers as a test says, honestly or not.
final class RangeServer: Sendable {
  struct Request: Sendable {
    let path: String
    /// By names in lower case.
    let headers: [String: String]
    /// Counts from 0.
    let number: Int

    /// The range that is asked for.
    var range: Range<Int>? {
      let ends = headers["range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
      return ends.map { $0[0]..<($0[1] + 1) }
    }
  }

  struct Answer: Sendable {
    var status = 200
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// Ends the connection after so many bytes of the body.
    var cut: Int?
    /// Sends the body again and again.
    var isEndless = false
  }

  private struct State {
    var descriptor: Int32
    var requests = 0
  }
  private let state: Mutex<State>
  let port: Int

  var requestCount: Int { state.withLock { $0.requests } }
  var url: String { "http://127.0.0.1:\(port)/map.tif" }

  init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard bound else { throw POSIXError(.EADDRINUSE) }
    port = Int(UInt16(bigEndian: address.sin_port))
    state = Mutex(State(descriptor: descriptor))
    let count: @Sendable () -> Int? = { [weak self] in
      self?.state.withLock { state in
        state.requests += 1
        return state.requests - 1
      }
    }
    Thread.detachNewThread {
      while true {
        let client = accept(descriptor, nil, nil)
        guard client >= 0 else { return }
        Thread.detachNewThread {
          while let head = Self.head(client), let number = count() {
            guard Self.send(answer(Self.request(head, number)), to: client) else { break }
          }
          close(client)
        }
      }
    }
  }

  deinit {
    let descriptor = state.withLock { $0.descriptor }
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  /// Answers with parts of a file, as honest servers do.
  static func part(_ file: [UInt8], _ request: Request, etag: String? = "\"1\"") -> Answer {
    var answer = Answer()
    if let etag {
      answer.headers["ETag"] = etag
      if let wanted = request.headers["if-match"], wanted != etag { return Answer(status: 412) }
    }
    guard let range = request.range else {
      answer.body = file
      return answer
    }
    let part = range.clamped(to: 0..<file.count)
    answer.status = 206
    answer.headers["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.count)"
    answer.body = Array(file[part])
    return answer
  }

  private static func head(_ client: Int32) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) {
      guard bytes.count < 16384, recv(client, &byte, 1, 0) == 1 else { return nil }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func request(_ head: String, _ number: Int) -> Request {
    let lines = head.components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return Request(path: lines[0].components(separatedBy: " ")[1], headers: headers, number: number)
  }

  private static func send(_ answer: Answer, to client: Int32) -> Bool {
    var head = "HTTP/1.1 \(answer.status) Answer\r\n"
    for (name, value) in answer.headers { head += "\(name): \(value)\r\n" }
    if !answer.isEndless { head += "Content-Length: \(answer.body.count)\r\n" }
    var bytes = Array("\(head)\r\n".utf8)
    bytes += answer.body.prefix(answer.cut ?? answer.body.count)
    repeat {
      var start = 0
      while start < bytes.count {
        let sent = bytes.withUnsafeBytes {
          LibC.send(client, $0.baseAddress! + start, bytes.count - start, Int32(MSG_NOSIGNAL))
        }
        guard sent > 0 else { return false }
        start += sent
      }
      if answer.isEndless { bytes = answer.body }
    } while answer.isEndless
    return answer.cut == nil
  }
}
