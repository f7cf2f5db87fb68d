import LibC

/// Generates sessions of flings, pinches, double taps, pauses and jumps to search results. The same seed gives the same
/// session on every machine.
///
/// Pauses between gestures are log-normal around 1.6 s, as in recorded sessions; one in twenty is a reading pause of up
/// to half a minute.
package struct SessionGenerator {
  /// The area of a session.
  struct Area {
    /// The range of the centre of the screen, in units of the world.
    var x: ClosedRange<Double>
    var y: ClosedRange<Double>
    var zooms: ClosedRange<Double>
    /// The range at the start.
    var startX: ClosedRange<Double>
    var startY: ClosedRange<Double>
    var startZooms: ClosedRange<Double>
    /// The reach of a search in units of the world, and its zooms.
    var jump: Double
    var jumpZooms: ClosedRange<Double>

    /// All but the world's edges.
    static let world = Area(
      x: 0.1...0.9, y: 0.1...0.9, zooms: 8...17, startX: 0.3...0.7, startY: 0.3...0.6, startZooms: 11...14, jump: 0.01,
      jumpZooms: 12...15)
  }

  private let area: Area
  private var random: SplitMix
  private var session: RecordedSession
  private var time = 0.0
  private var x = 0.0
  private var y = 0.0
  private var zoom = 0.0

  /// - Parameters:
  ///   - gestureCount: the number of gestures; about 3 s each.
  package static func session(seed: UInt64, gestureCount: Int = 40) -> RecordedSession {
    session(seed: seed, gestureCount: gestureCount, in: .world)
  }

  static func session(seed: UInt64, gestureCount: Int, in area: Area) -> RecordedSession {
    var generator = SessionGenerator(seed: seed, area)
    for _ in 0..<gestureCount { generator.addGesture() }
    return generator.session
  }

  private init(seed: UInt64, _ area: Area) {
    self.area = area
    random = SplitMix(state: seed)
    session = RecordedSession(name: "synthetic-\(seed)", source: "synthetic", gestures: [])
    (x, y) = (random.next(in: area.startX), random.next(in: area.startY))
    zoom = wholeZoom(area.startZooms)
    session.gestures.append(MapGesture(kind: .start(.world(x: x, y: y), zoom: zoom), time: 0, duration: 0))
  }

  private mutating func addGesture() {
    time += random.next(in: 0...1) < 0.05 ? random.next(in: 10...30) : min(8, max(0.08, 1.6 * exp(random.normal())))
    switch random.next(in: 0...1) {
    case ..<0.55: addPan()
    case ..<0.8: addPinch()
    case ..<0.95: addDoubleTap()
    default: addJump()
    }
  }

  private mutating func addPan() {
    let angle = random.next(in: 0...(2 * Double.pi))
    let length = min(0.9, 0.35 * exp(0.6 * random.normal()))
    let duration = random.next(in: 0.12...0.4)
    // The velocity at which the finger left, either decaying over 0.5 s or stopped before.
    let run = random.next(in: 0...1) < 0.5 ? min(2.5, length / duration * 0.5) : 0
    let seconds = run > 0 ? random.next(in: 0.5...2.2) : 0
    let whole = length + run * (1 - exp(-seconds / SessionRenderer.flingDecay))
    // A pan that would leave the area goes in the opposite direction.
    let side = Self.side(zoom)
    let across = area.x.contains(x + whole * cos(angle) * side) ? cos(angle) : -cos(angle)
    let down = area.y.contains(y + whole * sin(angle) * side) ? sin(angle) : -sin(angle)
    let (dx, dy) = (length * across, length * down)
    let fling = run > 0 ? MapGesture.Fling(dx: run * across, dy: run * down, duration: seconds) : nil
    add(.pan(dx: dx, dy: dy, fling: fling), duration: duration, pause: fling?.duration ?? 0)
    // The place only needs to be near enough for the zooms that follow.
    x = clamp(x + whole * across * side, area.x)
    y = clamp(y + whole * down * side, area.y)
  }

  private mutating func addPinch() {
    let change = (random.next(in: 0...1) < 0.5 ? -1 : 1) * random.next(in: 0.4...1.6)
    zoomAbout(change, duration: random.next(in: 0.3...0.9), isAnimated: false)
  }

  private mutating func addDoubleTap() {
    zoomAbout(random.next(in: 0...1) < 0.6 ? 1 : -1, duration: 0.25, isAnimated: true)
  }

  private mutating func zoomAbout(_ change: Double, duration: Double, isAnimated: Bool) {
    let goal = clamp(zoom + change, area.zooms)
    guard goal != zoom else { return }
    // The fixed point is up to a third of the screen from the middle.
    let (across, down) = (random.next(in: -0.33...0.33), random.next(in: -0.33...0.33))
    let shift = Self.side(zoom) - Self.side(goal)
    (x, y, zoom) = (clamp(x + across * shift, area.x), clamp(y + down * shift, area.y), goal)
    add(.zoom(.world(x: x, y: y), zoom: zoom, isAnimated: isAnimated), duration: duration)
  }

  private mutating func addJump() {
    let (across, down) = (random.next(in: -area.jump...area.jump), random.next(in: -area.jump...area.jump))
    x = clamp(area.x.contains(x + across) ? x + across : x - across, area.x)
    y = clamp(area.y.contains(y + down) ? y + down : y - down, area.y)
    zoom = wholeZoom(area.jumpZooms)
    add(.jump(.world(x: x, y: y), zoom: zoom), duration: random.next(in: 0...1) < 0.5 ? 0 : random.next(in: 0.8...2))
  }

  private mutating func add(_ kind: MapGesture.Kind, duration: Double, pause: Double = 0) {
    session.gestures.append(MapGesture(kind: kind, time: time, duration: duration))
    time += duration + pause
  }

  /// The short side of a phone in units of the world.
  private static func side(_ zoom: Double) -> Double { 1170 / 256 * exp2(-zoom) }

  private func clamp(_ value: Double, _ range: ClosedRange<Double>) -> Double {
    min(range.upperBound, max(range.lowerBound, value))
  }

  private mutating func wholeZoom(_ range: ClosedRange<Double>) -> Double {
    clamp(Double(Int(random.next(in: range))), area.zooms)
  }
}

extension SessionGenerator.Area {
  /// A rectangle and its zooms.
  init(x: ClosedRange<Double>, y: ClosedRange<Double>, zooms: ClosedRange<Double>) {
    func middle(_ range: ClosedRange<Double>) -> ClosedRange<Double> {
      let quarter = (range.upperBound - range.lowerBound) / 4
      return (range.lowerBound + quarter)...(range.upperBound - quarter)
    }
    let low = max(zooms.lowerBound, zooms.upperBound - 3)
    self.init(
      x: x, y: y, zooms: zooms, startX: middle(x), startY: middle(y), startZooms: low...zooms.upperBound,
      jump: min(x.upperBound - x.lowerBound, y.upperBound - y.lowerBound) / 2, jumpZooms: low...zooms.upperBound)
  }
}

/// The SplitMix64 generator.
private struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  mutating func next(in range: ClosedRange<Double>) -> Double {
    range.lowerBound + (range.upperBound - range.lowerBound) * Double(next() >> 11) * 0x1p-53
  }

  /// A normally distributed number: the sum of twelve uniformly distributed ones.
  mutating func normal() -> Double {
    (0..<12).reduce(-6.0) { sum, _ in sum + next(in: 0...1) }
  }
}
