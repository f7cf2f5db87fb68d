package import MemoryPressure
import ServerSupport
import Support
package import TileIndex

/// How a server listens and answers. The defaults are for a server inside an app: any free port of this machine, no
/// pages of other origins, and nothing of the process is changed.
public struct TileServerOptions: Sendable {
  /// Which pages of other origins may read the responses (CORS).
  public enum CrossOrigin: Hashable, Sendable {
    /// All of them: tiles are public.
    case any
    /// These origins, such as `https://app.example.org`.
    case origins([String])
    /// None.
    case off
  }

  /// Certificate and key, both PEM files.
  public struct TLS: Hashable, Sendable {
    /// The certificate, followed by those of its issuers.
    public var certificatePath: String
    /// The private key.
    public var keyPath: String

    /// The paths of two PEM files.
    public init(certificatePath: String, keyPath: String) {
      self.certificatePath = certificatePath
      self.keyPath = keyPath
    }
  }

  /// Settings that differ for one tileset.
  public struct TilesetSettings: Hashable, Sendable {
    /// For tiles that are not there; nil as for the others.
    public var missing: MissingTilePolicy?
    /// Value of the Cache-Control field.
    public var caching: String?

    /// What differs; nil is as for the other tilesets.
    public init(missing: MissingTilePolicy? = nil, caching: String? = nil) {
      self.missing = missing
      self.caching = caching
    }
  }

  /// Which tiles are fetched or rendered before they are requested.
  public enum Prefetch: String, Hashable, Sendable, CaseIterable {
    /// Those that take time: rendered ones, and those of slow disks and other servers.
    case auto
    /// All of them.
    case on
    /// None.
    case off
  }

  /// The address to listen on; the default is reachable from this machine only.
  public var host = "127.0.0.1"
  /// 0 for any that is free; ``TileServer/port`` says which.
  public var port = 0
  /// A path to listen on instead of host and port.
  public var unixSocket: String?
  /// For HTTPS; nil for HTTP.
  public var tls: TLS?
  /// The prefix of every path, such as `/maps`; empty for none.
  public var basePath = ""
  /// The URL by which clients reach the server, with scheme, host, port and base path. Takes precedence over Host and
  /// X-Forwarded fields.
  public var publicURL: String?
  /// Which pages of other origins may read the responses.
  public var crossOrigin = CrossOrigin.off
  /// Host names, without port, that requests may have; empty for all. On an address that only programs of this machine
  /// reach, addresses, `localhost` and the host of ``publicURL`` are allowed in any case, and other names only if they
  /// are listed. Prevents DNS rebinding: foreign pages cannot reach a local server under their own name.
  public var allowedHosts: [String] = []
  /// Addresses of proxies whose X-Forwarded fields are trusted, in addition to this machine's own.
  public var trustedProxies: [String] = []
  /// Memory for tiles, in bytes: half for rendered tiles, half for the responses with stored tiles that were requested
  /// last.
  public var cacheBytes = 64 << 20
  /// Memory for tiles that are being decoded and drawn, in bytes, beside ``cacheBytes``: what takes more waits, and a
  /// tile that takes more by itself is not drawn. The default has room for any tile of 4096 x 4096 pixels.
  public var drawingBytes = 256 << 20
  /// Which tiles are fetched or rendered before they are requested.
  public var prefetch = Prefetch.auto
  /// False leaves out what exists only to answer repeated requests for stored tiles with less processor time; the bytes
  /// of the answers are the same. All of ``cacheBytes`` is then for rendered tiles.
  public var fastPath = true
  /// Where memory pressure is read; nil ignores it.
  package var memoryPressure: (any PressureReadings)? = SystemPressure()
  /// From which share of the memory on it is short.
  package var pressureMarks = PressureGauge.Marks()
  /// For tiles that are not there; nil for 404, and 204 for vector tiles.
  public var missing: MissingTilePolicy?
  /// Value of Cache-Control for tiles.
  public var caching = "public, max-age=300"
  /// Settings that differ for a tileset, by its id; called once for each id.
  public var settings: @Sendable (_ id: String) -> TilesetSettings = { _ in TilesetSettings() }
  /// The command that carries out the repair of a warning, for the log and `/tilesets.json`; nil for none. It is
  /// public, so it names the file without its folder.
  package var repairCommand: @Sendable (_ warning: BundleError) -> String? = { _ in nil }
  /// Folders to search for the viewer's libraries; nil for the usual ones.
  public var webLibraryFolders: [String]?
  /// Threads for HTTP connections; nil for one per core.
  package var loopCount: Int?
  /// Seconds between two scans for new, changed and removed bundles; 0 for never.
  package var refreshSeconds = 1
  /// Limits for each connection.
  public var limits = ConnectionLimits()
  /// Whether the process may have as many files and connections open as the system allows it, from the start on. This
  /// holds for the whole process.
  package var raisesFileLimit = false

  /// The defaults.
  public init() {}
}

/// Limits for each connection.
public struct ConnectionLimits: Hashable, Sendable {
  /// Connections at a time; a new one takes the place of the one that has been idle longest.
  public var connectionCountMax = 16_384
  /// All header fields of a request together, in bytes, and its first line as well.
  public var headerBytesMax = 16_384
  /// Header fields of a request.
  package var headerCountMax = 100
  /// The longest request body that is read and ignored, in bytes; a longer one ends the connection.
  public var bodyBytesMax = 65_536
  /// Seconds from the connection to the end of its first request, and from a request's head to its end.
  public var requestSeconds = 10
  /// Seconds between an answer and the end of the next request.
  public var idleSeconds = 60
  /// Seconds after which a client that does not read its responses is disconnected.
  public var writeSeconds = 60
  /// Seconds that requests in progress may take when the server stops.
  public var drainSeconds = 10
  /// Requests of one connection that may wait for their responses; beyond that no more are read.
  package var pipelinedCountMax = 32

  /// The defaults.
  public init() {}
}

extension TileServerOptions {
  /// A warning in a line, without the file's folder.
  func text(of warning: BundleError) -> String {
    ["\(warning.path.map(Folder.name) ?? "") \(warning.message)", warning.remedy].compactMap(\.self).joined(
      separator: "; ")
      + (repairCommand(warning).map { ": \($0)" } ?? "")
  }

  /// The host as the system expects it: an IPv6 address may be given in brackets, as in URLs.
  var listeningHost: String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  /// True when it listens where only programs of this machine can connect, and by an address or as `localhost`.
  var isReachedFromHereAlone: Bool {
    guard unixSocket == nil else { return false }
    if listeningHost.lowercased() == "localhost" { return true }
    return ClientAddress.isAddress(listeningHost) && TrustedProxies.isLoopback(ClientAddress(listeningHost))
  }

  /// The same options with no more connections than file descriptors allow. A quarter of the descriptors, at most 512,
  /// is reserved for bundles, assets and logs.
  func limited(toDescriptors count: Int) -> TileServerOptions {
    var limited = self
    limited.limits.connectionCountMax = min(limits.connectionCountMax, count - min(count / 4, 512))
    return limited
  }
}

extension TileServerOptions {
  /// - Throws: ``ServeError`` with `.invalidOption` for a ``publicURL`` that no client could use, and for a proxy that
  /// is
  ///   no address: it would never be trusted.
  func check() throws {
    if let wrong = trustedProxies.first(where: { !ClientAddress.isAddress($0) }) {
      throw ServeError(
        .invalidOption, "trustedProxies: \"\(wrong)\" is no address", remedy: "give addresses of IPv4 or IPv6")
    }
    guard let publicURL else { return }
    do { _ = try HTTPAddress(publicURL) } catch {
      throw ServeError(
        .invalidOption, "publicURL: \"\(publicURL)\" \(error)",
        remedy: "give the URL by which clients reach the server, such as https://maps.example.org/tiles")
    }
  }
}
