public import ArgumentParser
import CommandSupport
import Support
public import TileCut
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

private func numbers(_ text: String) -> [Double]? {
  let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
    Double($0.trimmingWhitespace)
  }
  return parts.contains { $0 == nil } ? nil : parts.map { $0! }
}
