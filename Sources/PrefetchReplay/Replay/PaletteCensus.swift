import Support
import TileImage
import TileIndex

/// How many of a bundle's tiles have at most 256 colours and so can be kept in a palette.
package struct PaletteCensus: Hashable, Sendable {
  package struct Zoom: Hashable, Sendable {
    package var zoom: Int
    package var tiles = 0
    /// Of these, those with at most 256 colours.
    package var inPalette = 0
    /// The memory for all tiles in bytes: as RGBA, and with a palette where possible.
    package var bytes = 0
    package var paletteBytes = 0
  }

  package var path: String
  package var zooms: [Zoom]

  /// Decodes every tile: some milliseconds each.
  ///
  /// - Throws: ``ReplayError/Code/unreadableBundle``, also for tiles that are not images.
  package init(_ path: String) throws {
    self.path = path
    zooms = []
    do {
      let reader = try BundleFile.open(path)
      for zoom in try reader.zooms() {
        guard let range = try reader.range(zoom: zoom) else { continue }
        var line = Zoom(zoom: zoom)
        try reader.forEachTile(in: range) { tile, bytes in
          let pixels: PixelBuffer
          do { pixels = try ImageDecoder.decode(bytes) } catch {
            throw ReplayError(
              .unreadableBundle, path: path, "tile \(tile) cannot be decoded (\(error))", remedy: "verify the bundle")
          }
          let palette = PalettePixels.from(pixels)
          line.tiles += 1
          line.inPalette += palette == nil ? 0 : 1
          line.bytes += pixels.byteCount
          line.paletteBytes += palette?.byteCount ?? pixels.byteCount
        }
        zooms.append(line)
      }
    } catch {
      throw ReplayError(bundle: error)
    }
  }

  package var total: Zoom {
    zooms.reduce(Zoom(zoom: -1)) { sum, line in
      Zoom(
        zoom: -1, tiles: sum.tiles + line.tiles, inPalette: sum.inPalette + line.inPalette,
        bytes: sum.bytes + line.bytes, paletteBytes: sum.paletteBytes + line.paletteBytes)
    }
  }
}

extension PaletteCensus {
  /// A text table.
  package var text: String {
    var rows = [["zoom", "tiles", "at most 256 colours", "memory in the palette tier"]]
    for line in zooms { rows.append(line.cells("\(line.zoom)")) }
    rows.append(total.cells("all"))
    return "\(path)\n" + TextTable.text(rows)
  }

  /// One line: `{"bundle": ..., "tiles": ..., "inPalette": ..., "paletteShare": ..., "zooms": [...]}`.
  package var json: String {
    JSONValue.object(
      [.init("bundle", .string(path))] + total.members
        + [
          .init("zooms", .array(zooms.map { .object([.init("zoom", .number($0.zoom))] + $0.members) }))
        ]
    ).text(insideMarkup: false)
  }
}

extension PaletteCensus.Zoom {
  /// The share of all tiles; 0 where there are none.
  package var share: Double { tiles == 0 ? 0 : Double(inPalette) / Double(tiles) }
  /// The memory with palettes, as a share of the memory as RGBA.
  package var memoryShare: Double { bytes == 0 ? 0 : Double(paletteBytes) / Double(bytes) }

  fileprivate func cells(_ name: String) -> [String] {
    [name, "\(tiles)", TextTable.percent(share), TextTable.percent(memoryShare)]
  }

  fileprivate var members: [JSONValue.Member] {
    [
      .init("tiles", .number(tiles)), .init("inPalette", .number(inPalette)), .init("paletteShare", .number(share)),
      .init("memoryShare", .number(memoryShare)),
    ]
  }
}
