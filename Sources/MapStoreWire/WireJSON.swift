import Support
internal import TileIndex

/// Messages as bytes: JSON in UTF-8, members in the order of their declaration, absent ones left out.
public enum WireJSON {
  public static func encode(_ message: some Encodable) throws -> [UInt8] {
    try JSONValue(encoding: message).bytes
  }

  /// - Throws: ``Unreadable``, which says where and why.
  public static func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws(Unreadable) -> Message
  {
    do {
      return try JSONValue(parsing: bytes).decoded(as: type)
    } catch let error as DecodingError {
      throw Unreadable(description: "\(error.place.isEmpty ? "the document" : error.place) \(error.complaint)")
    } catch {
      throw Unreadable(description: "is not valid JSON: \(error)")
    }
  }

  /// Bytes that are no such message; where and why, in lower case.
  public struct Unreadable: Error, Hashable, CustomStringConvertible {
    public let description: String
  }
}
