public import ArgumentParser
import Foundation
public import TileCut
public import TileIndex

/// `W,S,E,N` in degrees.
struct BoundsArgument: ExpressibleByArgument {
  let box: BoundingBox

  init?(argument: String) {
    guard let n = numbers(argument), n.count == 4 else { return nil }
    box = BoundingBox(west: n[0], south: n[1], east: n[2], north: n[3])
  }
}

/// One number, or several with commas between.
struct NumbersArgument: ExpressibleByArgument {
  let values: [Double]

  init?(argument: String) {
    guard let values = numbers(argument), !values.isEmpty else { return nil }
    self.values = values
  }
}

/// `MIN,MAX`.
struct ScaleArgument: ExpressibleByArgument {
  let ends: (low: Double, high: Double)

  init?(argument: String) {
    guard let n = numbers(argument), n.count == 2 else { return nil }
    ends = (n[0], n[1])
  }
}

/// A number of bytes: `268435456`, `256MB`, `1.5GB`, `256MiB`.
struct BytesArgument: ExpressibleByArgument, CustomStringConvertible {
  let bytes: Int

  init(bytes: Int) { self.bytes = bytes }

  init?(argument: String) {
    let units: [(String, Double)] = [
      ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824), ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("k", 1e3),
      ("m", 1e6), ("g", 1e9), ("b", 1),
    ]
    let text = argument.lowercased()
    let unit = units.first { text.hasSuffix($0.0) }
    guard let number = Double(text.dropLast(unit?.0.count ?? 0)), number > 0, number * (unit?.1 ?? 1) < 1e15 else {
      return nil
    }
    bytes = Int(number * (unit?.1 ?? 1))
  }

  var description: String { bytes % 1_000_000 == 0 ? "\(bytes / 1_000_000)MB" : "\(bytes)" }
  var defaultValueDescription: String { description }
}

/// `N` or `MIN-MAX`.
struct ZoomArgument: ExpressibleByArgument {
  let selection: ZoomSelection

  init?(argument: String) {
    guard let selection = ZoomSelection(argument) else { return nil }
    self.selection = selection
  }
}

extension Resampling: ExpressibleByArgument {}
extension BundleMetadata.Kind: ExpressibleByArgument {}

/// Tile formats that can be written.
enum FormatArgument: String, ExpressibleByArgument, CaseIterable {
  case png
  case jpeg

  init?(argument: String) {
    self.init(rawValue: argument == "jpg" ? "jpeg" : argument)
  }
}

/// Grids that can be cut.
enum MatrixArgument: String, ExpressibleByArgument, CaseIterable {
  case webMercatorQuad = "WebMercatorQuad"
  case worldCRS84Quad = "WorldCRS84Quad"

  var matrixSet: TileMatrixSet {
    switch self {
    case .webMercatorQuad: .webMercatorQuad
    case .worldCRS84Quad: .worldCRS84Quad
    }
  }
}

private func numbers(_ text: String) -> [Double]? {
  let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
    Double($0.trimmingCharacters(in: .whitespaces))
  }
  return parts.contains { $0 == nil } ? nil : parts.map { $0! }
}
