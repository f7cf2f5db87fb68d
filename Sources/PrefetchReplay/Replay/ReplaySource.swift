/// Where tiles come from.
public enum ReplaySource: String, CaseIterable, Hashable, Sendable {
  /// A bundle on the device: two loaders, 2.5 ms a virtual tile.
  case local
  /// The network: six connections, 82 ms a virtual tile.
  case network

  public var loaderCount: Int { self == .local ? 2 : 6 }
  /// Seconds a virtual tile.
  public var loadTime: Double { self == .local ? 2.5e-3 : 82e-3 }
  /// Seconds before a tile of a real bundle is there to be decoded, beside reading it.
  var requestTime: Double { self == .local ? 0 : 80e-3 }
}
