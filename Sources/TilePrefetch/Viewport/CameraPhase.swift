/// What moves the map at the moment, as far as the app knows.
public enum CameraPhase: Hashable, Sendable {
  /// Nothing: the map lies still.
  case rest
  /// A finger or the mouse; nobody knows where it will end.
  case drag
  /// Two fingers.
  case pinch
  /// The map runs on after a flick; the app computes where it will stop.
  case fling(target: Viewport)
  /// An animation to a place that is known: a double tap, a button, a search.
  case animation(target: Viewport)
  /// Fixes of a GPS receiver move the map.
  case follow

  /// Where the movement will end, when that is known.
  public var target: Viewport? {
    switch self {
    case .fling(let target), .animation(let target): target
    case .rest, .drag, .pinch, .follow: nil
    }
  }
}
