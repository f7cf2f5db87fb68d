/// Where clients reach the service, as they see it: behind a proxy that is not where it listens.
public struct ServiceAddress: Hashable, Sendable {
  /// Scheme, host and port, such as `https://maps.example.org` or `http://127.0.0.1:8080`; no slash at the end.
  public var origin: String
  /// What stands before every path: empty, or `/maps`; no slash at the end.
  public var basePath: String

  public init(origin: String, basePath: String = "") {
    self.origin = origin
    self.basePath = basePath
  }

  /// The absolute URL of a path that begins with a slash and is already percent-encoded.
  public func url(_ path: String) -> String { origin + basePath + path }

  /// The same without scheme and host, for pages.
  public func path(_ path: String) -> String { basePath + path }
}
