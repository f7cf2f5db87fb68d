import LibC

/// What moves the map at the moment, as far as the app knows.
public enum CameraPhase: Hashable, Sendable {
  /// The map does not move.
  case rest
  /// A finger or the mouse; the target is unknown.
  case drag
  /// Two fingers.
  case pinch
  /// The map decelerates after a flick; the app computes where it will stop.
  case fling(target: Viewport)
  /// An animation to a known place: a double tap, a button, a search result.
  case animation(target: Viewport)
  /// GPS fixes move the map.
  case follow

  /// Where the movement will end, if known.
  public var target: Viewport? {
    switch self {
    case .fling(let target), .animation(let target): target
    case .rest, .drag, .pinch, .follow: nil
    }
  }

  /// This phase; a movement to a place that is none is one whose target is unknown.
  package var withUsableTarget: CameraPhase { target.map(\.isUsable) == false ? .drag : self }
}

/// How the map has moved: its present velocity and the last gesture.
struct CameraHistory: Sendable {
  private struct Moment {
    var viewport: Viewport
    var time: Double
  }

  /// Per second: units of the world, and zooms.
  struct Velocity {
    var x = 0.0
    var y = 0.0
    var zoom = 0.0
    var isZero: Bool { x == 0 && y == 0 && zoom == 0 }
  }

  /// The kind of a finished gesture.
  enum Gesture: Sendable {
    case pan, zoomIn, zoomOut
  }

  /// Smaller changes of the zoom count as jitter of two fingers, not as a zoom.
  static var zoomMin: Double { 0.3 }

  private(set) var phase = CameraPhase.rest
  /// The last gesture; a pan when there was none.
  private(set) var last = Gesture.pan
  /// A moving average of whether the app announced the targets of zooms: 1 at first; each zoom counts a third.
  private(set) var announcement = 1.0

  /// The frames of the present phase.
  private var moments: [Moment] = []
  /// The viewport before the map began to move.
  private var start: Viewport?
  private static var momentsMax: Int { 512 }

  var viewport: Viewport? { moments.last?.viewport }

  mutating func add(_ viewport: Viewport, _ phase: CameraPhase, at time: Double) {
    let before = moments.last?.viewport
    if phase != self.phase {
      if self.phase == .rest { start = before }
      if phase == .rest, let start { gestureEnded(from: start, to: viewport, isAnnounced: self.phase.target != nil) }
      moments.removeAll(keepingCapacity: true)
      self.phase = phase
    } else if phase == .rest, let before, abs(before.zoom - viewport.zoom) > Self.zoomMin {
      // The map has jumped.
      gestureEnded(from: before, to: viewport, isAnnounced: false)
    }
    moments.append(Moment(viewport: viewport, time: time))
    if moments.count > Self.momentsMax { moments.removeFirst(Self.momentsMax / 2) }
  }

  private mutating func gestureEnded(from start: Viewport, to end: Viewport, isAnnounced: Bool) {
    let zooms = end.zoom - start.zoom
    guard abs(zooms) > Self.zoomMin else {
      last = .pan
      return
    }
    last = zooms > 0 ? .zoomIn : .zoomOut
    announcement += ((isAnnounced ? 1 : 0) - announcement) / 3
  }

  /// The point of the present pinch that keeps its position on the screen; nil without a pinch, or when it has hardly
  /// zoomed.
  var pinchPoint: MapPoint? {
    guard phase == .pinch, let start = moments.first?.viewport, let end = viewport,
      abs(end.zoom - start.zoom) > Self.zoomMin
    else { return nil }
    let (before, after) = (exp2(start.zoom), exp2(end.zoom))
    return MapPoint(
      x: (end.x * after - start.x * before) / (after - before), y: (end.y * after - start.y * before) / (after - before)
    )
  }

  /// The mean velocity of the present phase within the last `window` seconds.
  func velocity(window: Double) -> Velocity {
    guard let now = moments.last else { return Velocity() }
    var first = moments.count - 1
    while first > 0, now.time - moments[first].time < window { first -= 1 }
    let before = moments[first]
    let seconds = now.time - before.time
    guard seconds > 0 else { return Velocity() }
    return Velocity(
      x: (now.viewport.x - before.viewport.x) / seconds, y: (now.viewport.y - before.viewport.y) / seconds,
      zoom: (now.viewport.zoom - before.viewport.zoom) / seconds)
  }
}
