/// One connection of a client, with a strict parser for responses. Requests may be any bytes.
public final class HTTPConnection {
  public struct Failure: Error, CustomStringConvertible { public let description: String }

  public let socket: Socket
  private var buffer: [UInt8] = []
  private var start = 0

  public init(_ socket: Socket) { self.socket = socket }

  public convenience init(port: Int) throws { self.init(try Socket(port: port)) }

  public func send(_ text: String) throws { try socket.send(text) }

  /// Sends a request and reads its response.
  ///
  /// - Parameter fields: beside Host, which is `localhost` unless it is here.
  public func request(_ target: String, method: String = "GET", _ fields: [String: String] = [:]) throws -> HTTPResponse
  {
    try send(Self.head(target, method: method, fields))
    return try response(to: method)
  }

  /// The bytes of a request without body.
  public static func head(_ target: String, method: String = "GET", _ fields: [String: String] = [:]) -> String {
    var text = "\(method) \(target) HTTP/1.1\r\n"
    if fields["Host"] == nil { text += "Host: localhost\r\n" }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) { text += "\(name): \(value)\r\n" }
    return text + "\r\n"
  }

  /// Reads the next response.
  ///
  /// - Throws: ``Failure`` when the connection ends before or within it, or when it violates HTTP/1.1.
  public func response(to method: String = "GET") throws -> HTTPResponse {
    var lines: [String] = []
    while true {
      let line = try line()
      if line.isEmpty { break }
      lines.append(line)
    }
    let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
    guard words.count == 3, words[0] == "HTTP/1.1", words[1].count == 3, let status = Int(words[1]) else {
      throw Failure(description: "no status line: \(lines.first ?? "")")
    }
    let fields = try lines.dropFirst().map { line in
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
        line[line.index(after: colon)...].first == " "
      else { throw Failure(description: "no header field: \(line)") }
      return HTTPResponse.Field(
        name: String(line[..<colon]), value: String(line[line.index(after: colon)...].dropFirst()))
    }
    let hasBody = method != "HEAD" && status >= 200 && status != 204 && status != 304
    let lengths = fields.filter { $0.name.lowercased() == "content-length" }.compactMap { Int($0.value) }
    guard !hasBody || lengths.count == 1 else { throw Failure(description: "not one Content-Length: \(lines)") }
    let body = try hasBody ? bytes(lengths[0]) : []
    return HTTPResponse(statusLine: lines[0], status: status, fields: fields, body: body)
  }

  /// True when the server ends the connection without another byte.
  public func isAtEnd() -> Bool {
    guard start == buffer.count else { return false }
    do { return try socket.receive().isEmpty } catch let error as Socket.Failure { return error.isReset } catch {
      return false
    }
  }

  /// All bytes until the connection ends or is reset.
  public func rest() -> [UInt8] {
    var all = Array(buffer[start...])
    while let more = try? socket.receive(), !more.isEmpty { all += more }
    (buffer, start) = ([], 0)
    return all
  }

  private func line() throws -> String {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        guard end > start, buffer[end - 1] == UInt8(ascii: "\r") else {
          throw Failure(description: "a line that does not end with CR LF")
        }
        defer { start = end + 1 }
        return String(decoding: buffer[start..<(end - 1)], as: UTF8.self)
      }
      searched = buffer.count
      let shift = start
      try fill()
      searched -= shift - start
    }
  }

  private func bytes(_ count: Int) throws -> [UInt8] {
    while buffer.count - start < count { try fill() }
    defer { start += count }
    return Array(buffer[start..<(start + count)])
  }

  private func fill() throws {
    let more = try socket.receive()
    guard !more.isEmpty else { throw Failure(description: "the connection ended after \(buffer.count - start) bytes") }
    if start > 1 << 20 {
      buffer.removeFirst(start)
      start = 0
    }
    buffer += more
  }
}

extension Socket.Failure {
  /// Whether the other side reset the connection.
  public var isReset: Bool { description.contains("reset") }
}
