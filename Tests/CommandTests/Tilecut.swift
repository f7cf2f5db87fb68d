import Foundation
import TestSupport
import Testing
import TileImage

/// Runs the built `tilecut` to its end.
func tilecut(_ arguments: String..., in folder: String? = nil, timeout: Double = 60) throws -> CommandRun {
  try Command(built: "tilecut").run(arguments, in: folder, timeout: timeout)
}

/// Starts the built `tilecut`.
func startTilecut(_ arguments: String..., in folder: String? = nil) throws -> ChildProcess {
  try Command(built: "tilecut").start(arguments, in: folder)
}

/// The exit codes that docs/reference/exit-codes.md lists.
let documentedStatuses = exitCodesInDocuments(of: "tilecut")

/// The statuses in the table of docs/reference/exit-codes.md for a command.
func exitCodesInDocuments(of command: String) -> Set<Int32> {
  let document = (try? String(contentsOfFile: ProjectFiles.path("docs/reference/exit-codes.md"), encoding: .utf8)) ?? ""
  guard
    let table = document.split(separator: "`\(command)`:\n").dropFirst().first?.drop(while: \.isNewline)
      .split(separator: "\n\n").first
  else { return [] }
  let cells = table.split(separator: "\n").filter { $0.hasPrefix("|") }.compactMap { $0.split(separator: "|").first }
  return Set(cells.flatMap { $0.split(separator: ",") }.compactMap { Int32($0.trimmingCharacters(in: .whitespaces)) })
}

/// Expects a documented exit code, and one line that names the error and its remedy.
func expectRefusal(
  _ run: CommandRun, status: Int32? = nil, naming names: String..., sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(run.status != nil && run.status != 0, "\(run)", sourceLocation: sourceLocation)
  if let status { #expect(run.status == status, "\(run)", sourceLocation: sourceLocation) }
  #expect(documentedStatuses.contains(run.status ?? -1), "\(run)", sourceLocation: sourceLocation)
  for name in names { #expect(run.stderr.contains(name), "\(run)", sourceLocation: sourceLocation) }
  #expect(run.stdout.isEmpty, "\(run)", sourceLocation: sourceLocation)
  // The argument parser's own messages have another form.
  guard let line = run.stderrLines.last(where: { $0.hasPrefix("tilecut: ") }) else {
    #expect(run.status == 64 && run.stderr.contains("Usage: "), "\(run)", sourceLocation: sourceLocation)
    return
  }
  #expect(line.contains("; "), "no remedy: \(run)", sourceLocation: sourceLocation)
}

/// Expects that `verify` finds no error and no warning in a bundle.
func expectValid(_ bundle: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let run = try tilecut("verify", bundle)
  #expect(run.status == 0, "\(run)", sourceLocation: sourceLocation)
  #expect(!run.stdout.contains("warning"), "\(run)", sourceLocation: sourceLocation)
}

/// The Web Mercator tiles that a box of degrees touches, as `z/x/y`, by the formulas of the OpenStreetMap wiki and not
/// by ours.
func mercatorTiles(west: Double, south: Double, east: Double, north: Double, _ zooms: ClosedRange<Int>) -> Set<String> {
  var tiles: Set<String> = []
  for zoom in zooms {
    let count = Double(1 << zoom)
    func column(_ longitude: Double) -> Double { (longitude + 180) / 360 * count }
    func row(_ latitude: Double) -> Double { (1 - asinh(tan(latitude * .pi / 180)) / .pi) / 2 * count }
    // A box whose edge is a tile's edge does not touch the tile beyond it.
    for x in Int(column(west))...Int(column(east).nextDown) {
      for y in Int(row(north))...Int(row(south).nextDown) { tiles.insert("\(zoom)/\(x)/\(y)") }
    }
  }
  return tiles
}

/// Rasters and other files for one test.
extension TemporaryFolder {
  /// Writes a picture without georeference: of one colour, or with colours that change along both axes.
  func writePicture(_ name: String, width: Int = 64, height: Int = 64, colour: UInt32? = nil) throws -> String {
    let pixels = PixelBuffer(width: width, height: height)
    for y in 0..<height {
      for x in 0..<width {
        let (red, green, blue) = (UInt32(255 * x / width), UInt32(255 * y / height), UInt32((x ^ y) & 0xff))
        pixels.bytes.storeBytes(
          of: 0xff00_0000 | (colour ?? blue << 16 | green << 8 | red), toByteOffset: (y * width + x) * 4,
          as: UInt32.self)
      }
    }
    return try write(name, bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
  }

  /// Writes noise, which no encoder makes smaller, with a georeference: the northern three quarters of the box of
  /// ``writePlacedPicture(_:edge:)``.
  func writeNoise(_ name: String) throws {
    let pixels = PixelBuffer(width: 512, height: 384)
    var random = SeededGenerator(seed: 11)
    for offset in stride(from: 0, to: 512 * 384 * 4, by: 4) {
      pixels.bytes.storeBytes(
        of: 0xff00_0000 | UInt32(truncatingIfNeeded: random.next()), toByteOffset: offset, as: UInt32.self)
    }
    let (stem, degrees) = (name.split(separator: ".")[0], 10.0 / 512)
    try write("\(stem).pgw", "\(degrees)\n0\n0\n\(-degrees)\n\(10 + degrees / 2)\n\(50 - degrees / 2)\n")
    try write("\(stem).prj", "EPSG:4326")
    _ = try write(name, bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
  }

  /// Writes a picture with a world file and a .prj file: 10 to 20 degrees east, 40 to 50 north.
  func writePlacedPicture(_ name: String = "placed.png", edge: Int = 64) throws -> String {
    let degrees = 10.0 / Double(edge)
    let stem = name.split(separator: ".")[0]
    try write(
      "\(stem).pgw", "\(degrees)\n0\n0\n\(-degrees)\n\(10 + degrees / 2)\n\(50 - degrees / 2)\n")
    try write("\(stem).prj", "EPSG:4326")
    return try writePicture(name, width: edge, height: edge)
  }
}

/// Python's jsonschema, which says whether a document is as a schema of the project demands.
enum SchemaValidator {
  static let hint: Comment = "python3 has no jsonschema (apt-get install python3-jsonschema)"
  static let isThere = (try? Command(installed: "python3")?.run(["-c", "import jsonschema.validators"]))?.status == 0

  private static let script = """
    import json, sys, jsonschema
    schema = json.load(open(sys.argv[1]))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.load(open(sys.argv[2])))
    """

  static func run(_ schema: String, _ document: String) throws -> CommandRun {
    try #require(Command(installed: "python3")).run(["-c", script, ProjectFiles.path(schema), document])
  }
}
