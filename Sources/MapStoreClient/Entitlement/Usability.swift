/// Whether a region may be opened without asking the server.
public enum Usability: Hashable, Sendable {
  /// Milliseconds since 1970: until when.
  case usable(until: Int64)
  /// It was owned until this time as far as is known here; the server has to be asked again.
  case expired(Int64)
  case notOwned
  /// The server was never asked, or what it said was changed since.
  case unknown
  /// The device's clock is earlier than a time that has been: by how many milliseconds.
  case clockSetBack(by: Int64)

  public var isUsable: Bool {
    if case .usable = self { true } else { false }
  }
}
