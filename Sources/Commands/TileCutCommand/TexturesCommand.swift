import ArgumentParser
import CommandSupport
import Support
import TileCut
import TileIndex

/// `tilecut textures`
struct TexturesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "textures", abstract: "Writes a bundle's tiles as textures for GPUs: ASTC in KTX 2.0 files.",
    discussion: """
      The folder has zoom/column/row.ktx2 and TileJSON. ASTC loses a little: the last line gives the distance of \
      all pixels from the tiles', in decibels.
      """)

  @Argument(
    help: ArgumentHelp("A bundle with raster tiles: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
    completion: .file())
  var bundle: String
  @Option(name: [.short, .long], help: "The folder to write.", completion: .directory)
  var output: String
  @Option(
    help: """
      How many pixels share 16 bytes: \(TextureBlock.allCases.map(\.rawValue).joined(separator: ", ")); few look \
      best, many take the least room. (default: 6x6)
      """)
  var block: TextureBlock?
  @Option(
    help: """
      How long the best encoding is searched for: \(TextureEffort.allCases.map(\.rawValue).joined(separator: ", ")). \
      (default: medium)
      """)
  var effort: TextureEffort?
  @Option(help: ArgumentHelp("Worker threads; one a core unless given.", valueName: "n"))
  var threads: Int?
  @OptionGroup var options: OutputOptions

  func validate() throws {
    try checkResources(threads: threads)
  }

  func run() throws {
    try OutputFile.protect([bundle], from: output)
    try TextureExport.check(output: output, replacing: options.force)
    var export = TextureExport()
    export.block = block ?? .six
    export.effort = effort ?? .medium
    export.threads = threads
    let tileCount = knownTileCount(of: bundle)
    let summary = try options.writing("textures", of: tileCount) {
      try export.write(bundle, to: output, replacing: options.force, progress: $0)
    }
    if options.json {
      let members: [JSONValue.Member] = [
        .init("path", .string(output)), .init("textures", .number(summary.tiles)),
        .init("bytes", .number(summary.bytes)),
        // Null without loss.
        .init("decibel", summary.psnr.isFinite ? .number(DecimalText.fixed(summary.psnr, 2)) : .null),
      ]
      return printText(JSONValue.object(members).indentedText)
    }
    let likeness = summary.psnr.isFinite ? DecimalText.fixed(summary.psnr, 1) + " dB" : "without loss"
    printLine("\(output): \(counted(summary.tiles, "texture")), \(formatted(bytes: summary.bytes)), \(likeness)")
  }
}
