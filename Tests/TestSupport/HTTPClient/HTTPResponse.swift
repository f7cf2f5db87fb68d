/// A response as it was received.
public struct HTTPResponse: Sendable, CustomStringConvertible {
  public struct Field: Hashable, Sendable {
    public let name: String
    public let value: String
  }

  /// `HTTP/1.1 200 OK`
  public let statusLine: String
  public let status: Int
  public let fields: [Field]
  public let body: [UInt8]

  /// The value of a field, with several of one name joined by commas; nil where there is none.
  public subscript(_ name: String) -> String? {
    let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  public var text: String { String(decoding: body, as: UTF8.self) }

  /// Whether the server announced that it closes the connection.
  public var closes: Bool { self["Connection"]?.lowercased() == "close" }

  /// For comments of expectations.
  public var description: String {
    "\(statusLine)\n" + fields.map { "\($0.name): \($0.value)\n" }.joined() + "\(text.prefix(300))"
  }
}
