import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// The map of what some regions cover, as SVG: the countries, pictures of a few large regions, and the outlines, each a
/// link to its region's page. It is drawn here, so that it needs no script, and no map library.
struct CoverageMap {
  private struct Box {
    var lower: SIMD2<Double>
    var upper: SIMD2<Double>
    var size: SIMD2<Double> { upper - lower }
    var area: Double { size.x * size.y }

    /// Degrees; west beyond east crosses the antimeridian.
    init(degrees box: [Double]) {
      let east = box[2] < box[0] ? box[2] + 360 : box[2]
      lower = LandShapes.unit(longitude: box[0], latitude: box[3])
      upper = LandShapes.unit(longitude: east, latitude: box[1])
    }

    init(_ lower: SIMD2<Double>, _ upper: SIMD2<Double>) { (self.lower, self.upper) = (lower, upper) }

    func union(_ other: Box) -> Box { Box(pointwiseMin(lower, other.lower), pointwiseMax(upper, other.upper)) }

    func common(_ other: Box) -> Double {
      let size = pointwiseMin(upper, other.upper) - pointwiseMax(lower, other.lower)
      return max(size.x, 0) * max(size.y, 0)
    }
  }

  /// In units of the drawing.
  private static let size = SIMD2(1200.0, 440.0)
  /// A region that would be smaller gets a mark.
  private static let edgeMin = 9.0
  /// Pictures are loaded at once, so they are few.
  private static let picturesMax = 3

  private let listings: [RegionListing]
  private let boxes: [Box]
  private let view: Box
  private let scale: Double

  /// Nil where there is nothing to show.
  init?(_ listings: [RegionListing]) {
    guard let first = listings.first else { return nil }
    self.listings = listings
    boxes = listings.map { Box(degrees: $0.bounds) }
    let all = boxes.reduce(Box(degrees: first.bounds)) { $0.union($1) }
    // Room around it, and no closer than a few degrees: the countries have a kilometre's precision at best.
    let wanted = pointwiseMax(all.size * 1.16, SIMD2(0.015, 0.0055))
    let unit = max(wanted.x / Self.size.x, wanted.y / Self.size.y)
    let extent = Self.size * unit
    var middle = (all.lower + all.upper) / 2
    middle.y = extent.y >= 1 ? 0.5 : min(max(middle.y, extent.y / 2), 1 - extent.y / 2)
    view = Box(middle - extent / 2, middle + extent / 2)
    scale = 1 / unit
  }

  /// - Parameters:
  ///   - href: the address of a region, as HTML.
  ///   - picture: the address of a picture of a whole region, as HTML; nil where none can be laid on this map.
  func svg(
    label: String, href: (RegionListing) -> String, picture: (RegionListing) -> String?
  ) -> String {
    let order = boxes.indices.sorted { boxes[$0].area > boxes[$1].area }
    let shapes = order.map { index in
      let listing = listings[index]
      return """
        <a href="\(href(listing))" tabindex="-1" data-shape="\(Markup.escaped(listing.id))">\
        <title>\(Markup.escaped(listing.title))</title>\(outline(index))</a>
        """
    }
    return """
      <figure class="coverage"><svg viewBox="0 0 \(Int(Self.size.x)) \(Int(Self.size.y))" \
      aria-hidden="true" focusable="false">
      <path class="land" d="\(land())"/>
      \(pictures(order, picture).joined(separator: "\n"))
      \(shapes.joined(separator: "\n"))
      </svg><figcaption>\(Markup.escaped(label))</figcaption></figure>
      """
  }

  /// Large regions first, none of which is mostly on another.
  private func pictures(_ order: [Int], _ picture: (RegionListing) -> String?) -> [String] {
    var (taken, elements): ([Box], [String]) = ([], [])
    for index in order where elements.count < Self.picturesMax {
      let box = listings[index].previewBounds.map { Box(degrees: $0) } ?? boxes[index]
      guard box.size.x * scale > 60, !taken.contains(where: { $0.common(box) > 0.5 * box.area }),
        let address = picture(listings[index])
      else { continue }
      let (origin, size) = ((box.lower - view.lower) * scale, box.size * scale)
      taken.append(box)
      elements.append(
        """
        <image href="\(address)" x="\(number(origin.x))" y="\(number(origin.y))" width="\(number(size.x))" \
        height="\(number(size.y))" preserveAspectRatio="none"/>
        """)
    }
    return elements
  }

  private func outline(_ index: Int) -> String {
    let size = boxes[index].size * scale
    let middle = ((boxes[index].lower + boxes[index].upper) / 2 - view.lower) * scale
    if max(size.x, size.y) < Self.edgeMin {
      return "<circle cx=\"\(number(middle.x))\" cy=\"\(number(middle.y))\" r=\"6\"/>"
    }
    if let boundary = listings[index].boundary {
      let west = listings[index].bounds[0]
      let paths = boundary.polygons.joined().map { ring in
        path(
          ring.map { point in
            // An outline across the antimeridian continues where its box does.
            let longitude = point.x < west - 180 ? point.x + 360 : point.x
            return LandShapes.unit(longitude: longitude, latitude: point.y)
          })
      }
      return "<path fill-rule=\"evenodd\" d=\"\(paths.joined())\"/>"
    }
    let origin = (boxes[index].lower - view.lower) * scale
    return """
      <rect x="\(number(origin.x))" y="\(number(origin.y))" width="\(number(size.x))" height="\(number(size.y))"/>
      """
  }

  /// The countries in sight. The map may go on beyond the antimeridian to either side.
  private func land() -> String {
    var text = ""
    for turn in [-1.0, 0, 1] {
      let shift = SIMD2(turn, 0)
      for ring in LandShapes.rings {
        let (lower, upper) = (ring.lower + shift, ring.upper + shift)
        guard lower.x < view.upper.x, upper.x > view.lower.x, lower.y < view.upper.y, upper.y > view.lower.y
        else { continue }
        text += path(clipped(ring.points.map { $0 + shift }))
      }
    }
    return text
  }

  /// A polygon's part in sight and a margin around it (Sutherland and Hodgman).
  private func clipped(_ points: [SIMD2<Double>]) -> [SIMD2<Double>] {
    let margin = 12 / scale
    var points = points
    for (axis, limit, keepsBelow) in [
      (0, view.lower.x - margin, false), (0, view.upper.x + margin, true), (1, view.lower.y - margin, false),
      (1, view.upper.y + margin, true),
    ] {
      func isInside(_ point: SIMD2<Double>) -> Bool { keepsBelow ? point[axis] <= limit : point[axis] >= limit }
      var kept: [SIMD2<Double>] = []
      for (index, point) in points.enumerated() {
        let last = points[index == 0 ? points.count - 1 : index - 1]
        if isInside(last) != isInside(point) {
          kept.append(last + (point - last) * ((limit - last[axis]) / (point[axis] - last[axis])))
        }
        if isInside(point) { kept.append(point) }
      }
      points = kept
    }
    return points
  }

  /// A closed path without points that nobody could tell apart.
  private func path(_ points: [SIMD2<Double>]) -> String {
    var (text, last) = ("", SIMD2(Double.infinity, 0))
    for point in points {
      let place = (point - view.lower) * scale
      guard abs(place.x - last.x) + abs(place.y - last.y) >= 1.5 else { continue }
      text += "\(text.isEmpty ? "M" : "L")\(number(place.x)) \(number(place.y))"
      last = place
    }
    return text.isEmpty ? "" : text + "Z"
  }

  private func number(_ value: Double) -> String {
    let tenths = Int((min(max(value, -1e6), 1e6) * 10).rounded())
    let text = "\(abs(tenths) / 10)\(tenths % 10 == 0 ? "" : ".\(abs(tenths) % 10)")"
    return tenths < 0 ? "-" + text : text
  }
}
