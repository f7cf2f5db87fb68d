/// Where virtual tiles come from.
public enum ReplaySource: String, CaseIterable, Hashable, Sendable {
  /// A bundle on the device: two loaders, 2.5 ms a tile.
  case local
  /// The network: six connections, 82 ms a tile.
  case network

  public var loaderCount: Int { self == .local ? 2 : 6 }
  /// Seconds a tile.
  public var loadTime: Double { self == .local ? 2.5e-3 : 82e-3 }
}
