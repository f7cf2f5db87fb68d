import ArgumentParser
import CommandSupport
import TileCut
import TileIndex

/// The options of commands that write a file, and how they write it.
struct OutputOptions: ParsableArguments {
  @Flag(help: "Replace the output if it exists.")
  var force = false
  @Flag(help: "Print JSON.")
  var json = false
  @OptionGroup var progress: ProgressOption

  /// Shows the count that `body` reports while it writes. A signal stops it and removes the unfinished file.
  ///
  /// - Parameter total: counted only if it is shown; nil when it is not known.
  func writing<Summary>(
    _ unit: String = "tiles", of total: @autoclosure () -> Int?,
    _ body: (_ progress: @escaping @Sendable (Int) -> Void) throws -> Summary
  ) throws -> Summary {
    try progress.showing(unit, of: total()) { shown in try stoppable { try body(shown) } }
  }
}

/// The options of commands that write a bundle, and how they write it: ``validate(_:)``, ``check(_:inputs:)``,
/// ``write(_:of:_:)``.
struct BundleOutputOptions: ParsableArguments {
  @Option(help: "How rows count in a folder: xyz from the north, tms from the south. (default: xyz)")
  private var scheme: TileScheme?
  @Flag(help: ArgumentHelp(stringLiteral: CutSetting.tileHashesHelp))
  var tileHashes = false
  @OptionGroup var file: OutputOptions

  /// How rows count in a folder.
  var rows: TileScheme { scheme ?? .xyz }

  /// - Throws: `ValidationError` for a scheme of something else than a folder.
  func validate(_ output: String) throws { try requireFolder(output, for: scheme) }

  /// Refuses an output that is one of the inputs, or that exists and may not be replaced.
  func check(_ output: String, inputs: [String]) throws {
    try OutputFile.protect(inputs, from: output)
    try BundleFile.check(output: output, replacing: file.force)
    try BundleFile.check(output: output, hashes: tileHashes)
  }

  /// Writes the bundle and prints what it has.
  ///
  /// - Parameters:
  ///   - total: of the tiles that `body` counts; nil when it is not known.
  ///   - warnings: what is known beforehand.
  func write(
    _ output: String, of total: @autoclosure () -> Int?, warnings: [String] = [],
    _ body: (_ progress: @escaping @Sendable (Int) -> Void) throws -> BundleSummary
  ) throws {
    let summary = try file.writing(of: total(), body)
    var warnings = warnings + [BundleFile.zoomWarning(summary.maxZoom, output: output)].compactMap(\.self)
    warnings += summary.leftOut.warnings(output)
    for warning in warnings { printError("tilecut: warning: \(warning)") }
    try WrittenBundle(summary, output, warnings: warnings).show(json: file.json)
  }
}

extension LeftOut {
  /// For the command that wrote a file.
  func warnings(_ output: String) -> [String] {
    var warnings: [String] = []
    if rows > 0 {
      warnings.append(
        "\(output): \(counted(rows, "row")) of the tables of tiles \(rows == 1 ? "is" : "are") left out: without"
          + " bytes, without whole numbers, or outside the grid; tilecut verify names them")
    }
    if files > 0 {
      warnings.append(
        "\(output): \(counted(files, "file")) with images \(files == 1 ? "is" : "are") left out: named otherwise than"
          + " by a row, outside the grid, empty, or second files of a tile; find and rename or remove them")
    }
    return warnings
  }
}

/// What a command prints of the bundle that it wrote.
struct WrittenBundle: Encodable {
  /// As the user named it.
  let path: String
  let tiles: Int
  let distinctTiles: Int
  let minzoom: Int
  let maxzoom: Int
  let bytes: Int
  /// Of cuts alone.
  private(set) var seconds: Double?
  /// Rows of tables that are no tiles; not of cuts.
  private(set) var leftOutRows: Int?
  /// Places outside the area of an extract; nil for none.
  private(set) var leftOutPlaces: Int?
  let warnings: [String]

  init(_ summary: BundleSummary, _ path: String, warnings: [String]) {
    (leftOutRows, self.warnings) = (summary.leftOut.rows, warnings)
    leftOutPlaces = summary.leftOutPlaces > 0 ? summary.leftOutPlaces : nil
    (self.path, tiles, distinctTiles) = (path, summary.tiles, summary.distinctTiles)
    (minzoom, maxzoom, bytes) = (summary.minZoom, summary.maxZoom, summary.bytes)
  }

  /// - Parameter warnings: beside the summary's.
  init(_ summary: CutSummary, _ path: String, warnings: [String] = []) {
    self.warnings = summary.warnings + warnings.filter { !summary.warnings.contains($0) }
    (self.path, tiles, distinctTiles) = (path, summary.tileCount, summary.distinctTileCount)
    (minzoom, maxzoom, bytes, seconds) = (summary.zoomMin, summary.zoomMax, summary.fileBytes, summary.seconds)
  }

  func show(json: Bool) throws {
    if json { return printText(try prettyJSON(self)) }
    let distinct = distinctTiles == tiles || seconds == nil ? "" : " (\(distinctTiles) distinct)"
    let zooms = minzoom == maxzoom ? "zoom \(minzoom)" : "zoom \(minzoom)-\(maxzoom)"
    // Every other name than a container's is that of MBTiles.
    let isUnnamed = (try? BundleFile.kind(ofOutput: path)) == .mbtiles && !path.lowercased().hasSuffix(".mbtiles")
    let container = isUnnamed ? ["MBTiles"] : []
    let parts = container + ["\(counted(tiles, "tile"))\(distinct)", zooms, formatted(bytes: bytes)]
    let ends = [
      seconds.map { formatted(seconds: $0) }, leftOutPlaces.map { "\(counted($0, "place")) outside it left out" },
    ]
    printLine("\(path): \((parts + ends.compactMap(\.self)).joined(separator: ", "))")
  }
}
