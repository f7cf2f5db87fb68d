public import ArgumentParser
import CommandConfiguration
import CommandSupport
import Logging
import TileServe

/// The flags of `tileserve`; nil where the environment, the file or the default decides.
struct TileServeFlags: ParsableArguments {
  @OptionGroup(title: "Tilesets") var tilesets: Tilesets
  @OptionGroup(title: "Address") var address: Address
  @OptionGroup(title: "Web pages") var pages: Pages
  @OptionGroup(title: "Settings and work") var work: Work

  /// What is served, and how missing and damaged tiles are answered.
  struct Tilesets: ParsableArguments {
    @Argument(
      help: "Bundles, and folders of bundles. A bundle's id is its path below PATH without extension, / written --.",
      completion: .file())
    var path: [String] = []

    @Option(
      help: ArgumentHelp(
        "Draw a GPX or GeoJSON file as a tileset of its own, to be shown over others; several separated by commas.",
        valueName: "file"), completion: .file())
    var overlay: String?

    @Option(
      help: ArgumentHelp(
        """
        For missing tiles: 404, 204, blank, or overzoom, which enlarges the nearest ancestor. (default: 404; 204 for \
        vector tiles, overzoom for bundles of variable depth)
        """,
        valueName: "policy"))
    var missing: MissingTilePolicy?

    @Flag(
      help: """
        Compare each tile with its hash before it is sent, in bundles that have one of each tile \
        (tilecut --tile-hashes), and answer 500 for damaged ones.
        """)
    var check = false
  }

  /// Where the server listens, and how clients reach it.
  struct Address: ParsableArguments {
    @Option(help: "Address to listen on; 0.0.0.0 or :: for all. (default: 127.0.0.1)")
    var host: String?

    @Option(help: "Port; 0 for any that is free. (default: 8080)")
    var port: String?

    @Option(help: ArgumentHelp("Listen on a Unix socket instead.", valueName: "file"), completion: .file())
    var unixSocket: String?

    @Option(
      help: ArgumentHelp(
        "The URL at which clients reach the server, for the links in documents, whatever proxies say.",
        valueName: "url"))
    var publicUrl: String?

    @Option(help: ArgumentHelp("The prefix of every path, such as /maps, which a proxy passes on.", valueName: "path"))
    var basePath: String?
  }

  /// What pages of other sites may do.
  struct Pages: ParsableArguments {
    @Option(
      help: ArgumentHelp(
        "Web sites whose pages may read tiles: *, off, or origins separated by commas. (default: *)",
        valueName: "origin"),
      completion: .list(["off"]))
    var cors: String?

    @Option(
      help: ArgumentHelp(
        "Host names that requests may be addressed to, separated by commas. (default: all)",
        valueName: "hosts"))
    var allowedHosts: String?
  }

  /// The other settings, and what the work may take.
  struct Work: ParsableArguments {
    @Option(
      help: ArgumentHelp("A JSON file with any of these options, and more.", valueName: "file"), completion: .file())
    var config: String?

    @Option(help: ArgumentHelp("Memory for recently used tiles. (default: 64MB)", valueName: "bytes"))
    var cache: BytesArgument?

    @Option(help: ArgumentHelp("Threads for HTTP. (default: one a core)", valueName: "n"))
    var threads: String?
  }

  /// The flags that were given, by the names of the configuration.
  var values: FlagValues {
    FlagValues([
      "overlay": tilesets.overlay, "missing": tilesets.missing?.rawValue, "check": tilesets.check ? "on" : nil,
      "host": address.host, "port": address.port, "unixSocket": address.unixSocket, "publicUrl": address.publicUrl,
      "basePath": address.basePath, "cors": pages.cors, "allowedHosts": pages.allowedHosts,
      "cache": work.cache.map { String($0.bytes) }, "threads": work.threads,
    ])
  }
}

extension MissingTilePolicy: ExpressibleByArgument {}
