import LibC
import TileIndex
import TilePrefetch

/// Renders gestures on a screen as viewports, frame by frame.
struct SessionRenderer {
  typealias Frame = SessionFrames.Frame

  /// Seconds in which a fling loses all but 1/e of its velocity: a factor of 0.998 per millisecond.
  static var flingDecay: Double { 0.4995 }
  /// GPS fixes per second.
  static var followRate: Double { 4 }

  private(set) var frames: [Frame] = []
  private let device: ReplayDevice
  private let isHarsh: Bool
  /// World units per short side at the zoom in which ``MapGesture/Place/screens(x:y:)`` counts.
  private let placeScale: Double
  private var camera: Viewport

  /// - Parameter isHarsh: drags have a constant velocity and take half the time; zooms and jumps happen at once and are
  ///   not announced.
  init(_ session: RecordedSession, _ device: ReplayDevice, isHarsh: Bool) {
    self.device = device
    self.isHarsh = isHarsh
    placeScale = device.shortSide / Viewport.tilePixels * exp2(session.source == "fc2016" ? -9 : -8)
    camera = Viewport(x: 0.5, y: 0.5, zoom: 0, width: device.size.width, height: device.size.height)
  }

  mutating func render(_ gesture: MapGesture) {
    let from = camera
    switch gesture.kind {
    case .start(let place, let zoom):
      camera = viewport(place, zoom: zoom)
      frames.append(Frame(tick: 0, viewport: camera, phase: .rest))
    case .panTo(let place):
      let to = viewport(place, zoom: from.zoom)
      let isHarsh = isHarsh
      move(gesture.time, gesture.duration * (isHarsh ? 0.5 : 1), .drag) {
        from.towards(to, isHarsh ? $0 : Self.eased($0))
      }
    case .zoomTo(let place, let zoom):
      let to = viewport(place, zoom: zoom)
      move(gesture.time, isHarsh ? 0 : gesture.duration, .animation(target: to)) { from.towards(to, $0) }
    case .pan(let dx, let dy, let fling):
      let dragged = moved(from, dx, dy)
      move(gesture.time, gesture.duration, .drag) { from.towards(dragged, $0) }
      guard let fling else { return }
      let stop = moved(dragged, fling.dx, fling.dy)
      move(gesture.time + gesture.duration, fling.duration, .fling(target: stop)) {
        dragged.towards(stop, 1 - exp(-$0 * fling.duration / Self.flingDecay))
      }
    case .zoom(let place, let zoom, let isAnimated):
      let to = viewport(place, zoom: zoom)
      move(gesture.time, gesture.duration, isAnimated ? .animation(target: to) : .pinch) {
        Self.zoomed(from, to, $0)
      }
    case .jump(let place, let zoom): jump(gesture, to: viewport(place, zoom: zoom))
    case .follow(let fixes, let zoom): follow(gesture, fixes, zoom)
    }
  }

  /// Adds the frames of a movement and one at rest after it. `path` returns the viewport at a fraction of the duration.
  private mutating func move(
    _ start: Double, _ duration: Double, _ phase: CameraPhase, _ path: (Double) -> Viewport
  ) {
    let rate = SessionFrames.rate
    let (first, last) = (
      Int((start * rate - 1e-9).rounded(.up)), Int(((start + duration) * rate + 1e-9).rounded(.down))
    )
    if first <= last {
      for tick in first...last where tick > (frames.last?.tick ?? -1) {
        let share = duration <= 0 ? 0 : min(1, max(0, (Double(tick) / rate - start) / duration))
        frames.append(Frame(tick: tick, viewport: path(share), phase: phase))
      }
    }
    camera = path(1)
    let end = max(Int(((start + duration) * rate).rounded(.up)), (frames.last?.tick ?? -1) + 1)
    frames.append(Frame(tick: end, viewport: camera, phase: .rest))
  }

  private mutating func jump(_ gesture: MapGesture, to: Viewport) {
    let from = camera
    guard gesture.duration > 0 else {
      return move(gesture.time, 0, .animation(target: to)) { _ in to }
    }
    // The zoom at which the short side shows both ends, as in the flights of map libraries.
    let distance = max(hypot(to.x - from.x, to.y - from.y), 1e-9)
    let height = min(from.zoom, to.zoom, max(3, log2(device.shortSide / Viewport.tilePixels / distance)))
    let isHarsh = isHarsh
    move(gesture.time, gesture.duration, .animation(target: to)) { share in
      var place = from.towards(to, isHarsh ? share : Self.eased(share))
      let rest = 1 - share
      place.zoom = rest * rest * from.zoom + 2 * share * rest * height + share * share * to.zoom
      return place
    }
  }

  private mutating func follow(_ gesture: MapGesture, _ fixes: [MapGesture.Fix], _ zoom: Double) {
    var next = 0
    let stepCount = Int(fixes[fixes.count - 1].time * Self.followRate)
    for step in 0..<max(stepCount, 0) {
      let time = Double(step) / Self.followRate
      while next < fixes.count, fixes[next].time <= time { next += 1 }
      let (before, after) = (fixes[max(next - 1, 0)], fixes[min(next, fixes.count - 1)])
      let share = after.time > before.time ? max(0, (time - before.time) / (after.time - before.time)) : 0
      camera = viewport(
        .world(x: before.x + (after.x - before.x) * share, y: before.y + (after.y - before.y) * share), zoom: zoom)
      let tick = Int((time * SessionFrames.rate).rounded())
      guard tick > (frames.last?.tick ?? -1) else { continue }
      frames.append(Frame(tick: tick, viewport: camera, phase: .follow))
    }
  }

  private func viewport(_ place: MapGesture.Place, zoom: Double) -> Viewport {
    var viewport = Viewport(x: 0, y: 0, zoom: zoom, width: device.size.width, height: device.size.height)
    switch place {
    case .world(let x, let y): (viewport.x, viewport.y) = (x, y)
    case .screens(let x, let y):
      viewport.x = Self.origin.x + x * placeScale
      viewport.y = Self.origin.y + y * placeScale
    }
    return viewport
  }

  /// 39.8 degrees north, 98.5 degrees west.
  private static var origin: (x: Double, y: Double) {
    ((180 - 98.5) / 360, (1 - asinh(tan(39.8 * Double.pi / 180)) / Double.pi) / 2)
  }

  private func moved(_ from: Viewport, _ dx: Double, _ dy: Double) -> Viewport {
    var to = from
    to.x += dx * from.shortSide
    to.y += dy * from.shortSide
    return to
  }

  /// Eases in and out.
  private static func eased(_ share: Double) -> Double { share * share * (3 - 2 * share) }

  /// A zoom about a point that keeps its position on the screen.
  private static func zoomed(_ from: Viewport, _ to: Viewport, _ share: Double) -> Viewport {
    var place = from
    place.zoom += (to.zoom - from.zoom) * share
    guard abs(to.zoom - from.zoom) > 1e-6 else {
      (place.x, place.y) = (to.x, to.y)
      return place
    }
    let weight = (exp2(-from.zoom) - exp2(-place.zoom)) / (exp2(-from.zoom) - exp2(-to.zoom))
    place.x += (to.x - from.x) * weight
    place.y += (to.y - from.y) * weight
    return place
  }
}
