/// A recorded or generated use of a map, independent of the screen: a start and gestures in the order of time.
/// docs/explanation/prefetch.md describes the files.
package struct RecordedSession: Hashable, Sendable {
  /// The file's name without extension.
  package var name: String
  /// The origin of the session: `fc2016`, `gps`, `syn` ...
  package var source: String
  package var gestures: [MapGesture]
  /// True for a session that was generated for the bundle on which it is replayed; it is not moved.
  package var isPlaced = false

  package init(name: String, source: String, gestures: [MapGesture]) {
    self.name = name
    self.source = source
    self.gestures = gestures
  }
}

/// One gesture of a session.
package struct MapGesture: Hashable, Sendable {
  /// A place on the map.
  package enum Place: Hashable, Sendable {
    /// The world from 0 to 1, from the north west.
    case world(x: Double, y: Double)
    /// In short sides of the screen, at a zoom that depends on the session's source, from a point in the middle of
    /// North America. Used for recordings of studies with their own grids.
    case screens(x: Double, y: Double)
  }

  /// A point on a track.
  package struct Fix: Hashable, Sendable {
    /// Seconds from the gesture's start.
    package var time: Double
    package var x: Double
    package var y: Double
  }

  /// The gesture's kind.
  package enum Kind: Hashable, Sendable {
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
  package struct Fling: Hashable, Sendable {
    package var dx: Double
    package var dy: Double
    package var duration: Double

    package init(dx: Double, dy: Double, duration: Double) {
      self.dx = dx
      self.dy = dy
      self.duration = duration
    }
  }

  package var kind: Kind
  /// Seconds since the session's start.
  package var time: Double
  /// In seconds; 0 for an immediate change.
  package var duration: Double
}
