/// What somebody did with a map, independently of the screen: a start and gestures in the order of their times. docs/prefetch.md describes the files.
public struct MapSession: Hashable, Sendable {
  /// The file's name without extension.
  public var name: String
  /// Where the session comes from: `fc2016`, `gps`, `syn` ...
  public var source: String
  public var gestures: [MapGesture]
  /// True when it was made up for the bundle that it is replayed on, and stays where it is.
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
    /// Short sides of the screen, at a zoom that the session's source sets, from a point in the middle of North America: how studies with their own grids are put onto the map.
    case screens(x: Double, y: Double)
  }

  /// A point on a track.
  public struct Fix: Hashable, Sendable {
    /// Seconds from the gesture's start.
    public var time: Double
    public var x: Double
    public var y: Double
  }

  /// What is done.
  public enum Kind: Hashable, Sendable {
    /// The map appears.
    case start(Place, zoom: Double)
    /// A finger drags the map so that a place comes to the middle.
    case panTo(Place)
    /// An animation to a place and zoom.
    case zoomTo(Place, zoom: Double)
    /// A finger drags the map, by short sides of the screen; afterwards the map may run on.
    case pan(dx: Double, dy: Double, fling: Fling?)
    /// Two fingers, or a double tap, change the zoom about the point that stays where it is.
    case zoom(Place, zoom: Double, isAnimated: Bool)
    /// A search or a link: at once, or as a flight that rises to see both ends.
    case jump(Place, zoom: Double)
    /// GPS fixes move the map.
    case follow([Fix], zoom: Double)
  }

  /// How a map runs on: by short sides of the screen in all, stopped after some seconds.
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
  /// Seconds; 0 is at once.
  public var duration: Double
}
