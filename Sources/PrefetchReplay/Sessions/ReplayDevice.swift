/// A screen that sessions are replayed on.
public enum ReplayDevice: String, CaseIterable, Hashable, Sendable {
  /// 1170 x 2532 pixels: about 62 tiles.
  case phone
  /// 1920 x 1080 pixels: about 45 tiles.
  case desktop

  /// Pixels.
  public var size: (width: Double, height: Double) {
    switch self {
    case .phone: (1170, 2532)
    case .desktop: (1920, 1080)
    }
  }

  /// The shorter side in pixels: the measure of gestures.
  public var shortSide: Double { min(size.width, size.height) }
}
