import Support
import TileImage
import TileIndex

/// What rendering an SVG costs at most. librsvg cannot be stopped, and a few bytes can have it work for days.
///
/// 1. Read the elements and what they refer to: copies (`use`), filters, masks, patterns, markers.
/// 2. Add up what each may cost, with all that it refers to, which may refer to others.
///
/// Costs are in nanoseconds of a common processor, and rather too high: an element is taken to cover the whole picture.
struct SVGCost {
  /// About ten seconds.
  private static let max = 1e10
  private static let elementsMax = 20_000
  /// Of elements in each other, and of references through each other.
  private static let depthMax = 100

  /// A cost that grows with the pixels of the picture, and one that does not.
  private struct Cost {
    var pixel = 0.0
    /// For each pixel, as many times as the picture has pixels.
    var square = 0.0
    var fixed = 0.0

    mutating func add(_ other: Cost, times: Double = 1) {
      pixel += other.pixel * times
      square += other.square * times
      fixed += other.fixed * times
    }
  }

  private struct Element {
    var own = Cost()
    var children: [Int] = []
    var references: [(id: String, kind: Reference)] = []
  }

  private enum Reference {
    case once
    /// Children inherit it, or a style sheet names it.
    case forEachElement
    case forEachVertex
  }

  private var elements: [Element] = []
  private var ids: [String: Int] = [:]
  private var pathBytes = 0
  private var total = Cost()

  /// - Throws: ``DrawingError`` for what is no XML, or far from any icon.
  init(_ bytes: [UInt8]) throws(DrawingError) {
    do {
      try read(bytes)
      var known: [Int: Cost] = [:]
      if !elements.isEmpty { total = try cost(of: 0, depth: 0, &known) }
    } catch let error as DrawingError {
      throw error
    } catch {
      throw Self.refusal("\(error)", "save it as plain SVG")
    }
  }

  /// - Throws: ``DrawingError`` if rendering so many pixels might take too long.
  func check(width: Int, height: Int) throws(DrawingError) {
    let pixels = Double(width * height)
    guard total.fixed + (total.pixel + total.square * pixels) * pixels <= Self.max else {
      throw Self.refusal(
        "rendering it with \(width) x \(height) pixels might take minutes",
        "make it simpler, with fewer filters, patterns and copies, or smaller")
    }
  }

  private static func refusal(_ message: String, _ remedy: String) -> DrawingError {
    DrawingError(message: message, remedy: remedy, isOfStyle: true)
  }

  // MARK: - Elements

  private mutating func read(_ bytes: [UInt8]) throws {
    var open: [(index: Int, name: String)] = []
    try XMLReader.read(bytes) { event in
      switch event {
      case .start(let name, let attributes, _):
        guard elements.count < Self.elementsMax, open.count < Self.depthMax else {
          throw Self.refusal("it has too many elements, or too many within each other", "make it simpler")
        }
        if let parent = open.last { elements[parent.index].children.append(elements.count) }
        open.append((elements.count, name))
        elements.append(try element(name, attributes))
      case .text(let text):
        guard let last = open.last else { return }
        // Letters are shaped and drawn.
        elements[last.index].own.fixed += 2000 * Double(text.utf8.count)
        if last.name == "style" { elements[0].references += Self.targets(in: text).map { ($0, .forEachVertex) } }
      case .end: open.removeLast()
      }
    }
  }

  private mutating func element(_ name: String, _ attributes: [String: String]) throws -> Element {
    var element = Element()
    element.own.pixel = 1
    for (attribute, value) in attributes {
      element.own.fixed += 100 * Double(value.utf8.count)
      let attribute = attribute.split(separator: ":").last.map(String.init) ?? attribute
      switch attribute {
      case "id": ids[value] = ids[value] ?? elements.count
      case "href" where value.hasPrefix("#"): element.references.append((String(value.dropFirst()), .once))
      case "href" where value.hasPrefix("data:"): try Self.checkPicture(value)
      case "d", "points": pathBytes += value.utf8.count
      case "filter", "style": element.own.pixel += 30 * Double(value.utf8.count { $0 == UInt8(ascii: "(") })
      default: break
      }
      let kind: Reference =
        switch attribute {
        case "filter", "mask", "clip-path": .once
        case _ where attribute.hasPrefix("marker"), "style": .forEachVertex
        default: .forEachElement
        }
      element.references += Self.targets(in: value).map { ($0, kind) }
    }
    func number(_ name: String, or standard: Double) -> Double {
      let parts = (attributes[name] ?? "").split { $0 == " " || $0 == "," }.map { Double($0) ?? .infinity }
      return parts.isEmpty ? standard : abs(parts.reduce(1, *)) * (parts.count == 1 && name == "order" ? parts[0] : 1)
    }
    switch name {
    case "feTurbulence": element.own.pixel += 50 * Swift.max(number("numOctaves", or: 1), 1)
    case "feConvolveMatrix": element.own.pixel += 10 * Swift.max(number("order", or: 9), 1)
    // Its radius may be as large as the picture.
    case "feMorphology": element.own.square += 4
    case _ where name.hasPrefix("fe"): element.own.pixel += 50
    default: break
    }
    return element
  }

  /// The names in `url(#name)`, with or without quotes.
  private static func targets(in text: String) -> [String] {
    text.split(separator: "url(").dropFirst(text.hasPrefix("url(") ? 0 : 1).map { part in
      String(part.prefix { $0 != ")" }.filter { !" '\"#".contains($0) })
    }
  }

  /// A picture within the drawing is as small as an icon that is a picture.
  private static func checkPicture(_ link: String) throws {
    let parts = link.split(separator: ",", maxSplits: 1)
    if parts.count == 2, parts[0].hasSuffix(";base64"),
      let bytes = Base64.decode(parts[1].utf8, skippingSpace: true),
      let size = try? bytes.withUnsafeBytes({ try ImageDecoder.size(of: $0) }),
      (1...1024).contains(size.width), (1...1024).contains(size.height)
    {
      return
    }
    throw refusal(
      "a picture in it is larger than 1024 x 1024 pixels, or of another format than PNG, JPEG and WebP",
      "save the icon as PNG")
  }

  // MARK: - Sums

  private func cost(of index: Int, depth: Int, _ known: inout [Int: Cost]) throws -> Cost {
    if let known = known[index] { return known }
    guard depth < Self.depthMax else {
      throw Self.refusal("its elements refer to each other in too long a chain", "make it simpler")
    }
    // Of what refers to itself, which librsvg does not draw.
    known[index] = Cost()
    var sum = elements[index].own
    for child in elements[index].children { sum.add(try cost(of: child, depth: depth + 1, &known)) }
    for reference in elements[index].references {
      guard let target = ids[reference.id] else { continue }
      let times =
        switch reference.kind {
        case .once: 1.0
        case .forEachElement: Double(elements.count)
        case .forEachVertex: Double(elements.count + pathBytes)
        }
      sum.add(try cost(of: target, depth: depth + 1, &known), times: times)
    }
    known[index] = sum
    return sum
  }
}
