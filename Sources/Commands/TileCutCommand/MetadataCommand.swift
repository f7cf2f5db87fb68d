import ArgumentParser
import CommandSupport
import Support
import TileIndex

/// `tilecut metadata`
struct MetadataCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "metadata", abstract: "Reads or changes the metadata of a bundle.", subcommands: [Get.self, Set.self])

  /// `tilecut metadata get`
  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get", abstract: "Prints one row of the metadata, or all of them.")

    @Argument(
      help: ArgumentHelp("A bundle of any maker: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
      completion: .file())
    var bundle: String
    @Argument(help: ArgumentHelp("The row's name; all rows unless given.", valueName: "name"))
    var name: String?
    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
      let metadata = try BundleFile.open(bundle).metadata
      let entries = metadata.entries.filter { name == nil || $0.name == name }
      guard name == nil || !entries.isEmpty else {
        throw BundleError(
          .notFound, path: bundle, "has no metadata row \"\(name ?? "")\"",
          remedy: "list them with: tilecut metadata get \(bundle.shellQuoted)")
      }
      if json { return printText(try prettyJSON(entries)) }
      for entry in entries { printLine(name == nil ? "\(entry.name): \(entry.value)" : entry.value) }
    }
  }

  /// `tilecut metadata set`
  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set", abstract: "Sets one row of the metadata, or removes it.",
      discussion: """
        Values are checked against MBTiles 1.3 and the tiles. The bundle is replaced atomically: programs that have it \
        open keep the old one.
        """)

    @Argument(
      help: ArgumentHelp("A bundle of any maker: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
      completion: .file())
    var bundle: String
    @Argument(help: ArgumentHelp("The row's name.", valueName: "name"))
    var name: String
    @Argument(
      parsing: .allUnrecognized,
      help: ArgumentHelp("The new value; without one the row is removed.", valueName: "value"))
    var value: [String] = []
    @Flag(help: "Print JSON: all rows as they are now.")
    var json = false
    @OptionGroup var progress: ProgressOption

    func validate() throws {
      // The argument parser leaves what it does not know to the value: -170,10,-160,20 is one, an option is none.
      if let option = value.first(where: { $0.hasPrefix("--") }) {
        throw ValidationError("there is no option \(option), and no value begins like one")
      }
      if value.count > 1 { throw ValidationError("there are \(value.count) values; put the value into quotes") }
    }

    func run() throws {
      let edit = MetadataEdit(name: name, value: value.first)
      let stored = try progress.showing(
        WorkProgress.bytes, of: (try? BundleFile.open(bundle))?.bytesCopiedForMetadata
      ) { shown in
        try stoppable { try edit.apply(to: bundle, progress: shown) }
      }
      if let stored, stored != value.first {
        printError(
          "tilecut: warning: \(bundle): \(name) is stored as \(stored): longitudes of bundles lie within 180, from west"
            + " to east")
      }
      if json { printText(try prettyJSON(try BundleFile.open(bundle).metadata.entries)) }
    }
  }
}
