/// A recorded or generated use of a map, independent of the screen: a start and gestures in the order of time.
/// docs/explanation/prefetch.md describes the files.
public struct MapSession: Hashable, Sendable {
  /// The file's name without extension.
  public var name: String
  /// The origin of the session: `fc2016`, `gps`, `syn` ...
  public var source: String
  public var gestures: [MapGesture]
  /// True for a session that was generated for the bundle on which it is replayed; it is not moved.
  public var isPlaced = false

  public init(name: String, source: String, gestures: [MapGesture]) {
    self.name = name
    self.source = source
    self.gestures = gestures
  }
}

/// One gesture of a session.
public struct MapGesture: Hashable, Sendable {
  /// A place on the map.
  public enum Place: Hashable, Sendable {
    /// The world from 0 to 1, from the north west.
    case world(x: Double, y: Double)
    /// In short sides of the screen, at a zoom that depends on the session's source, from a point in the middle of
    /// North America. Used for recordings of studies with their own grids.
    case screens(x: Double, y: Double)
  }

  /// A point on a track.
  public struct Fix: Hashable, Sendable {
    /// Seconds from the gesture's start.
    public var time: Double
    public var x: Double
    public var y: Double
  }

  /// The gesture's kind.
  public enum Kind: Hashable, Sendable {
    /// The map appears.
    case start(Place, zoom: Double)
    /// A finger drags the map so that a place comes to the middle.
    case panTo(Place)
    /// An animation to a place and zoom.
    case zoomTo(Place, zoom: Double)
    /// A finger drags the map, in short sides of the screen; a fling may follow.
    case pan(dx: Double, dy: Double, fling: Fling?)
    /// Two fingers, or a double tap, change the zoom about a fixed point.
    case zoom(Place, zoom: Double, isAnimated: Bool)
    /// A search or a link: at once, or as a flight that zooms out to show both ends.
    case jump(Place, zoom: Double)
    /// GPS fixes move the map.
    case follow([Fix], zoom: Double)
  }

  /// A map that moves on after a drag: the full distance in short sides of the screen, and the duration after which it
  /// is stopped.
  public struct Fling: Hashable, Sendable {
    public var dx: Double
    public var dy: Double
    public var duration: Double

    public init(dx: Double, dy: Double, duration: Double) {
      self.dx = dx
      self.dy = dy
      self.duration = duration
    }
  }

  public var kind: Kind
  /// Seconds since the session's start.
  public var time: Double
  /// In seconds; 0 for an immediate change.
  public var duration: Double
}
