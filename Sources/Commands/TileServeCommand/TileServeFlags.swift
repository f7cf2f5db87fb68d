public import ArgumentParser
import CommandConfiguration
import CommandSupport
import Logging
import TileServe

/// The flags of `tileserve`; nil where the environment, the file or the default decides.
struct TileServeFlags: ParsableArguments {
  @Argument(
    help: "Bundles, and folders of bundles. A bundle's id is its path below PATH without extension, / written --.",
    completion: .file())
  var path: [String] = []

  @Option(
    help: ArgumentHelp(
      "Draw a GPX or GeoJSON file as a tileset of its own, to be shown over others; several separated by commas.",
      valueName: "file"), completion: .file())
  var overlay: String?

  @Option(help: ArgumentHelp("A JSON file with any of these options.", valueName: "file"), completion: .file())
  var config: String?

  @Option(help: "Address to listen on; 0.0.0.0 or :: for all. (default: 127.0.0.1)")
  var host: String?

  @Option(help: "Port; 0 for any that is free. (default: 8080)")
  var port: String?

  @Option(help: ArgumentHelp("Listen on a Unix socket instead.", valueName: "file"), completion: .file())
  var unixSocket: String?

  @Option(help: ArgumentHelp("Memory for recently used tiles. (default: 64MB)", valueName: "bytes"))
  var cache: BytesArgument?

  @Option(
    help: ArgumentHelp(
      "Memory for tiles that are being drawn; larger tiles are not drawn. (default: 256MB)", valueName: "bytes"))
  var drawingMemory: BytesArgument?

  @Option(
    help: ArgumentHelp(
      """
      Load tiles before they are asked for: auto, where loading takes time (drawn tiles, slow disks, other servers \
      whose description allows it), on, or off. (default: auto)
      """,
      valueName: "when"))
  var prefetch: TileServerOptions.Prefetch?

  @Option(
    help: ArgumentHelp(
      """
      Answer repeated requests for stored tiles by a shorter way: on, or off for the same bytes, more slowly, to find \
      out whether it is to blame for something. (default: on)
      """,
      valueName: "switch"))
  var fastPath: Switch?

  @Option(help: ArgumentHelp("The prefix of every path, such as /maps, which a proxy passes on.", valueName: "path"))
  var basePath: String?

  @Option(
    help: ArgumentHelp(
      "The URL at which clients reach the server, for the links in documents, whatever proxies say.",
      valueName: "url"))
  var publicUrl: String?

  @Option(
    help: ArgumentHelp(
      """
      For missing tiles: 404, 204, blank, or overzoom, which enlarges the nearest ancestor. (default: 404; 204 for \
      vector tiles, overzoom for bundles of variable depth)
      """,
      valueName: "policy"))
  var missing: MissingTilePolicy?

  @Option(
    help: ArgumentHelp(
      "The field Cache-Control of tiles: how long browsers keep them. (default: public, max-age=300)",
      valueName: "value"))
  var cacheControl: String?

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

  @Option(
    help: ArgumentHelp(
      "Addresses of proxies whose X-Forwarded fields are trusted, besides this machine's, separated by commas.",
      valueName: "addresses"))
  var trustedProxies: String?

  @Option(
    help: ArgumentHelp("Write a line for each request; - for standard output.", valueName: "file"), completion: .file())
  var accessLog: String?

  @Option(
    help: "The least messages to log: trace, debug, info, notice, warning, error or critical. (default: info)",
    completion: .list(Logger.Level.allCases.map(\.rawValue)))
  var logLevel: String?

  @Option(help: ArgumentHelp("Certificate, a PEM file; enables HTTPS.", valueName: "file"), completion: .file())
  var tlsCert: String?

  @Option(help: ArgumentHelp("The certificate's key, a PEM file.", valueName: "file"), completion: .file())
  var tlsKey: String?

  @Option(help: ArgumentHelp("Threads for HTTP. (default: one a core)", valueName: "n"))
  var threads: String?

  @Option(help: "The most simultaneous connections. (default: 16384)")
  var connections: String?

  @Option(
    help: ArgumentHelp(
      """
      How long /ready says 503 after SIGTERM, so that a load balancer turns away, before the port closes. (default: \
      2)
      """,
      valueName: "seconds"))
  var drainDelay: String?

  @Option(
    help: ArgumentHelp(
      "Folders with the viewer's libraries, separated by commas, searched before the usual ones.",
      valueName: "folders"),
    completion: .directory)
  var web: String?

  /// The flags that were given, by the names of the configuration.
  var values: FlagValues {
    FlagValues([
      "overlay": overlay, "host": host, "port": port, "unixSocket": unixSocket,
      "cache": cache.map { String($0.bytes) }, "drawingMemory": drawingMemory.map { String($0.bytes) },
      "prefetch": prefetch?.rawValue, "fastPath": fastPath?.rawValue, "basePath": basePath, "publicUrl": publicUrl,
      "missing": missing?.rawValue,
      "cacheControl": cacheControl, "cors": cors, "allowedHosts": allowedHosts, "trustedProxies": trustedProxies,
      "accessLog": accessLog, "logLevel": logLevel, "tlsCert": tlsCert, "tlsKey": tlsKey,
      "threads": threads, "connections": connections,
      "drainDelay": drainDelay, "web": web,
    ])
  }
}

/// The words of an option that is on or off.
enum Switch: String, CaseIterable, ExpressibleByArgument {
  case on, off
}

extension MissingTilePolicy: ExpressibleByArgument {}
extension TileServerOptions.Prefetch: ExpressibleByArgument {}
