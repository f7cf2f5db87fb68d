public import ArgumentParser
import CommandSupport
import RegionCatalog
import Support
public import TileCut
public import TileImage
public import TileIndex

/// `W,S,E,N` in degrees.
struct BoundsArgument: ExpressibleByArgument {
  let box: BoundingBox

  init?(argument: String) {
    guard let n = numbers(argument), n.count == 4 else { return nil }
    box = BoundingBox(west: n[0], south: n[1], east: n[2], north: n[3])
  }

  /// False for a box that is not a valid area of the world.
  var isArea: Bool {
    box.south < box.north && abs(box.south) <= 90 && abs(box.north) <= 90 && box.west != box.east
      && abs(box.west) <= 540 && abs(box.east) <= 540
  }
}

/// `WxH` in pixels.
struct SizeArgument: ExpressibleByArgument {
  let size: BundlePreview.Size

  init?(argument: String) {
    let parts = argument.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1], width > 0, height > 0 else { return nil }
    size = BundlePreview.Size(width: width, height: height)
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

/// `MIN,MAX` or `auto`.
struct ScaleArgument: ExpressibleByArgument {
  let range: SampleRange

  init?(argument: String) {
    if argument == SampleRange.autoWord {
      range = .auto
      return
    }
    guard let n = numbers(argument), n.count == 2 else { return nil }
    range = .values(low: n[0], high: n[1])
  }
}

/// One band's number, or three with commas between.
struct BandsArgument: ExpressibleByArgument {
  let bands: [Int]

  init?(argument: String) {
    guard let n = numbers(argument) else { return nil }
    bands = n.compactMap { Int(exactly: $0) }
    guard bands.count == n.count, BandChoice.isValid(bands) else { return nil }
  }
}

/// `none`, or a band's number.
struct AlphaArgument: ExpressibleByArgument {
  let band: AlphaBand

  init?(argument: String) {
    guard let band = AlphaBand(argument) else { return nil }
    self.band = band
  }
}

/// `VALUE` for all sources, or `SOURCE=VALUE` for one.
struct SourceArgument<Value: ExpressibleByArgument>: ExpressibleByArgument {
  /// As the user named it; nil for all.
  let source: String?
  let value: Value

  init?(argument: String) {
    // Names may have equals signs, and these values have none.
    let equals = argument.lastIndex(of: "=")
    let text = equals.map { argument[argument.index(after: $0)...] } ?? argument[...]
    guard let value = Value(argument: String(text)) else { return nil }
    (self.value, source) = (value, equals.map { String(argument[..<$0]) })
  }
}

/// `N` or `MIN-MAX`.
struct ZoomArgument: ExpressibleByArgument {
  let selection: ZoomSelection

  init?(argument: String) {
    guard let selection = ZoomSelection(argument) else { return nil }
    self.selection = selection
  }

  /// The zooms that were named.
  var range: ClosedRange<Int>? {
    if case .levels(let range) = selection { range } else { nil }
  }
}

extension PNGEffort: ExpressibleByArgument {}
extension Resampling: ExpressibleByArgument {}
extension TextureBlock: ExpressibleByArgument {}
extension TextureEffort: ExpressibleByArgument {}
extension TileScheme: ExpressibleByArgument {}

/// Refuses what no cut can work with.
func checkResources(threads: Int?, memory: BytesArgument? = nil) throws {
  if let threads, !(1...1024).contains(threads) { throw ValidationError("--threads goes from 1 to 1024") }
  if let memory, memory.bytes < 32_000_000 { throw ValidationError("--memory must be at least 32MB") }
}

/// Refuses `--scheme` for outputs that have no file names.
func requireFolder(_ output: String, for scheme: TileScheme?) throws {
  guard scheme != nil, try BundleFile.kind(ofOutput: output) != .folder else { return }
  throw ValidationError("--scheme is for folders: end the output's name with a slash")
}

extension BundleMetadata.Kind: ExpressibleByArgument {}

/// A tile format that can be written.
struct FormatArgument: ExpressibleByArgument {
  let format: RegionSettings.Format

  init?(argument: String) {
    let synonyms = ["jpg": "jpeg", "jpeg+png": "auto"]
    guard let format = RegionSettings.Format(rawValue: synonyms[argument] ?? argument) else { return nil }
    self.format = format
  }

  static var allValueStrings: [String] { RegionSettings.Format.allCases.map(\.rawValue) }
  static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

/// A built-in grid, or a file with one.
struct MatrixArgument: ExpressibleByArgument {
  private let text: String

  init?(argument: String) { text = argument }

  static var names: String { TileMatrixSet.builtIn.map(\.identifier).joined(separator: ", ") }

  /// - Throws: `BundleError` for a file that has no grid, `CutError` for what is neither a grid nor a file.
  func matrixSet() throws -> TileMatrixSet {
    if let known = TileMatrixSet.named(text) { return known }
    guard text.lowercased().hasSuffix(".json") || FileSystem.kind(text) != nil else {
      throw CutError(
        .invalidOption, "--matrix: there is no grid called \"\(text)\", and no such file",
        remedy: "choose \(Self.names), or name a file with a Two Dimensional Tile Matrix Set (.json)")
    }
    return try TileMatrixSetDocument.matrixSet(inFile: text, lookup: CoordinateReferenceSystem.forGrid)
  }
}

private func numbers(_ text: String) -> [Double]? {
  let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
    Double($0.trimmingWhitespace)
  }
  return parts.contains { $0 == nil } ? nil : parts.map { $0! }
}
