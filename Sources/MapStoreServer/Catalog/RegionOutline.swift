import RegionCatalog
import TileIndex

/// A region's outline, in a form in which its edge nearest to a place is found without looking at all of them; its
/// bounding box, if it has none.
///
/// Edges that follow each other form runs with a box around each, pairs of runs have a box, and so on up to the box of
/// all. A box that is farther away than an edge that was measured rules out what is in it.
struct RegionOutline: Sendable {
  /// Longitude and latitude in degrees.
  struct Place: Hashable, Sendable {
    var longitude: Double
    var latitude: Double
  }

  private struct Box {
    var (west, south, east, north) = (Double.infinity, Double.infinity, -Double.infinity, -Double.infinity)

    mutating func add(_ x: Double, _ y: Double) {
      (west, south, east, north) = (min(west, x), min(south, y), max(east, x), max(north, y))
    }

    mutating func add(_ other: Box) {
      (west, south) = (min(west, other.west), min(south, other.south))
      (east, north) = (max(east, other.east), max(north, other.north))
    }
  }

  private struct Run {
    var ring: Int
    var start: Int
  }

  private let boundary: RegionBoundary?
  let rings: [RegionBoundary.Ring]
  private let runs: [Run]
  /// A binary heap's order: below box `n` are `2n + 1` and `2n + 2`; the last ones are the runs'.
  private let boxes: [Box]

  /// Each is an outer ring, followed by holes; empty for a region without an outline.
  var polygons: [[RegionBoundary.Ring]] { boundary?.polygons ?? [] }

  /// The box around the outline; the east of one across the antimeridian is beyond 180 degrees.
  var extent: BoundingBox {
    BoundingBox(west: boxes[0].west, south: boxes[0].south, east: boxes[0].east, north: boxes[0].north)
  }

  private static let edgesOfRun = 16
  /// The length of a degree of a meridian on the sphere with the earth's mean radius.
  private static let metresPerDegree = 111_195.0

  init(_ region: Catalog.Region) {
    boundary = region.boundary
    let rings = region.boundary.map { Array($0.polygons.joined()) } ?? []
    var (runs, leaves): ([Run], [Box]) = ([], [])
    for (index, ring) in rings.enumerated() {
      for start in stride(from: 0, to: ring.count - 1, by: Self.edgesOfRun) {
        var box = Box()
        for point in ring[start...min(start + Self.edgesOfRun, ring.count - 1)] { box.add(point.x, point.y) }
        runs.append(Run(ring: index, start: start))
        leaves.append(box)
      }
    }
    if region.boundary == nil {
      // A box across the antimeridian continues beyond 180 degrees.
      let (west, east) = (region.bounds[0], region.bounds[2])
      var box = Box()
      box.add(west, region.bounds[1])
      box.add(east < west ? east + 360 : east, region.bounds[3])
      leaves = [box]
    }
    var width = 1
    while width < leaves.count { width *= 2 }
    var boxes = Array(repeating: Box(), count: width - 1) + leaves
    boxes += Array(repeating: Box(), count: width - leaves.count)
    for index in stride(from: width - 2, through: 0, by: -1) {
      boxes[index].add(boxes[2 * index + 1])
      boxes[index].add(boxes[2 * index + 2])
    }
    (self.rings, self.runs, self.boxes) = (rings, runs, boxes)
  }

  /// The distance to the outline, or to the bounding box of a region without one; 0 inside.
  ///
  /// Computed in the tangent plane at the place: exact to a thousandth for near regions, and in a sensible order for
  /// far ones.
  func metres(from place: Place) -> Double {
    var measured = 0
    return metres(from: place, measured: &measured)
  }

  /// - Parameter measured: is increased by the edges that are looked at.
  func metres(from place: Place, measured: inout Int) -> Double {
    guard let boundary else { return metresToBox(from: place) }
    let turns = turns(of: place)
    for turn in turns where turn.square(to: boxes[0]) == 0 {
      if boundary.contains(longitude: turn.x, latitude: turn.y) { return 0 }
    }
    var least = Double.infinity
    // The nearest turn first: it usually rules out the others.
    for turn in turns.sorted(by: { $0.square(to: boxes[0]) < $1.square(to: boxes[0]) }) {
      search(0, turn, &least, &measured)
    }
    return least.squareRoot() * Self.metresPerDegree
  }

  /// The distance to the box around the outline, which is at most that to the outline.
  func metresToBox(from place: Place) -> Double {
    let square = turns(of: place).map { $0.square(to: boxes[0]) }.min() ?? .infinity
    // Rounding must not put it above the distance to an edge.
    return square.squareRoot() * Self.metresPerDegree * (boundary == nil ? 1 : 1 - 1e-9)
  }

  private func search(_ box: Int, _ turn: Turn, _ least: inout Double, _ measured: inout Int) {
    guard turn.square(to: boxes[box]) < least else { return }
    let (left, right) = (2 * box + 1, 2 * box + 2)
    guard left < boxes.count else {
      let run = runs[box - boxes.count / 2]
      let ring = rings[run.ring]
      let end = min(run.start + Self.edgesOfRun, ring.count - 1)
      for index in run.start..<end { least = min(least, turn.square(to: ring[index], ring[index + 1])) }
      measured += end - run.start
      return
    }
    let isLeftFirst = turn.square(to: boxes[left]) <= turn.square(to: boxes[right])
    search(isLeftFirst ? left : right, turn, &least, &measured)
    search(isLeftFirst ? right : left, turn, &least, &measured)
  }

  /// The place, and the same place 360 degrees to either side: outlines may cross the antimeridian.
  private func turns(of place: Place) -> [Turn] {
    let scale = Turn.cosine(ofDegrees: place.latitude)
    return [0.0, -360, 360].map { Turn(x: place.longitude + $0, y: place.latitude, scale: scale) }
  }

  /// A place, and the length of a degree of longitude there in degrees of latitude.
  private struct Turn {
    var x: Double
    var y: Double
    var scale: Double

    /// The square of the distance in degrees of latitude; 0 inside.
    func square(to box: Box) -> Double {
      let beyond = max(box.west - x, x - box.east, 0) * scale
      let above = max(box.south - y, y - box.north, 0)
      return beyond * beyond + above * above
    }

    func square(to a: SIMD2<Double>, _ b: SIMD2<Double>) -> Double {
      let (edgeX, edgeY, offsetX, offsetY) = ((b.x - a.x) * scale, b.y - a.y, (x - a.x) * scale, y - a.y)
      let square = edgeX * edgeX + edgeY * edgeY
      let along = square > 0 ? min(max((offsetX * edgeX + offsetY * edgeY) / square, 0), 1) : 0
      let (restX, restY) = (offsetX - edgeX * along, offsetY - edgeY * along)
      return restX * restX + restY * restY
    }

    /// By its Taylor series; exact to a thousandth except near the poles.
    static func cosine(ofDegrees degrees: Double) -> Double {
      let x = degrees * .pi / 180
      let square = x * x
      return max(0, 1 - square / 2 + square * square / 24 - square * square * square / 720)
    }
  }
}
