import ArgumentParser
import CommandSupport
import LibC
import MapStoreClient
import MapStoreWire
import Support
import Synchronization
import TileIndex

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A client command that works on a device's folder.
protocol DeviceCommand: AsyncParsableCommand {
  var flags: ClientFlags { get }
}

/// The flags of every client command.
struct ClientFlags: ParsableArguments {
  private static let defaultFolder = "maps"

  @Option(name: [.short, .long], help: "The folder of installed bundles; created if missing.", completion: .directory)
  var folder = Self.defaultFolder
  @Option(
    help: ArgumentHelp("The map store, such as https://maps.example.com; stored in the folder.", valueName: "url"))
  var server: String?
  @Flag(help: "Print JSON.")
  var json = false

  /// - Throws: `ExitCode` 2 when no server is known.
  func device(_ options: OfflineRegionOptions = OfflineRegionOptions()) throws -> ClientDevice {
    try ClientDevice(self, options: options)
  }

  /// Another client command for the same store and folder, such as `mapstore client list --folder 'FOLDER'`.
  func command(_ words: String) -> String {
    "mapstore client \(words)" + (server.map { " --server \($0.shellQuoted)" } ?? "")
      + (folder == Self.defaultFolder ? "" : " --folder \(folder.shellQuoted)")
  }

  func validate() throws {
    guard let server else { return }
    do { _ = try HTTPAddress(server) } catch { throw ValidationError("--server \(server): \(error)") }
  }
}

/// The flags of commands that download.
struct DownloadFlags: ParsableArguments {
  @Option(help: ArgumentHelp("The largest total size of installed bundles.", valueName: "bytes"))
  var quota: BytesArgument?
  @Option(help: ArgumentHelp("The space to leave free on the disk.", valueName: "bytes"))
  var reserve = BytesArgument(bytes: 64_000_000)
  @Option(help: ArgumentHelp("The number of simultaneous downloads.", valueName: "n"))
  var downloads = 3
  @Option(
    help: ArgumentHelp(
      """
      Downloads are recorded in pieces of this size, such as 1MB: after a kill or a power cut at most one is fetched \
      again.
      """, valueName: "bytes"))
  var piece = BytesArgument(bytes: 4 << 20)
  @Option(help: ArgumentHelp("The largest rate of each download, in bytes a second.", valueName: "bytes"))
  var rate: BytesArgument?
  @OptionGroup var progress: ProgressOption

  func validate() throws {
    if !(1...64).contains(downloads) { throw ValidationError("--downloads must be 1 to 64") }
    if let rate, rate.bytes < 16_384 { throw ValidationError("--rate must be at least 16384") }
    if piece.bytes < 4096 { throw ValidationError("--piece must be at least 4096") }
  }

  /// Runs work that downloads. The line that shows how far it is is gone when anything else is printed.
  func showing<Value: Sendable>(
    on device: ClientDevice, _ work: @escaping @Sendable (ClientDevice, DownloadPrinter) async throws -> Value
  ) async throws -> Value {
    let printer = DownloadPrinter(style: progress.style)
    return try await device.interruptibly { device in
      defer { printer.finish() }
      return try await work(device, printer)
    }
  }

  var options: OfflineRegionOptions {
    var options = OfflineRegionOptions()
    options.quotaBytes = quota?.bytes
    options.reserveBytes = reserve.bytes
    options.downloadsMax = downloads
    options.pieceBytes = piece.bytes
    options.bytesPerSecondMax = rate?.bytes
    return options
  }
}

/// A device: the installed regions in a folder, and the store that they come from.
struct ClientDevice: Sendable {
  let folder: String
  let manager: OfflineRegionManager
  let client: StoreClient

  init(_ flags: ClientFlags, options: OfflineRegionOptions) throws {
    let remembered = try ClientMemory.read(flags.folder)
    guard let server = flags.server ?? remembered?.server else {
      let command = flags.command("login LOGIN --server URL")
      printError("mapstore: \(flags.folder) has no map store yet; sign in first, or register: \(command)")
      throw ExitCode(.unusableOption)
    }
    // Session and keys belong to one store.
    let known = remembered.flatMap { $0.server == server ? $0 : nil } ?? ClientMemory(server: server)
    let folder = flags.folder
    self.folder = folder
    let box = MemoryBox(known)
    let session = StoreSession(
      known.session, deviceToken: known.deviceToken,
      changed: { details in
        box.memory.withLock { memory in
          memory.session = details
          memory.deviceToken = details?.deviceToken ?? memory.deviceToken
          // A failure does not stop this command; the next one has to sign in.
          try? memory.write(folder)
        }
      })
    client = try StoreClient(address: server, session: session, retry: options.retry)
    let grants = OfflineGrants.Rule(
      keys: known.grantKeys,
      keysChanged: { keys in
        box.memory.withLock { memory in
          memory.grantKeys = keys
          // After a failure the next command requests them again.
          try? memory.write(folder)
        }
      })
    manager = try OfflineRegionManager(
      folder: folder, options: options, grants: grants, waiting: .seconds(2))
  }

  /// A reference, since closures cannot share a `Mutex`.
  private final class MemoryBox: Sendable {
    let memory: Mutex<ClientMemory>
    init(_ memory: ClientMemory) { self.memory = Mutex(memory) }
  }

  /// Runs work that may take long. A signal cancels it; what was downloaded so far is kept and recorded.
  ///
  /// - Parameter note: what an interruption leaves.
  func interruptibly<Value: Sendable>(
    leaving note: String = "what was downloaded is kept, and sync continues it",
    _ work: @escaping @Sendable (ClientDevice) async throws -> Value
  ) async throws -> Value {
    let device = self
    let task = Task { try await work(device) }
    SignalWatch.process.whenStopped { task.cancel() }
    defer { SignalWatch.process.stop() }
    do {
      return try await task.value
    } catch {
      guard let signal = SignalWatch.process.received else { throw error }
      printError("mapstore: interrupted; \(note)")
      throw ExitCode(.signal(signal))
    }
  }
}

/// What the command stores in the folder, `.mapstore-client.json`: the server, the session and the keys of grants. Only
/// the file's owner can read it.
///
/// An app keeps the session in the system's key store instead, and has the keys built in.
struct ClientMemory: Codable {
  var server: String
  var session: SessionDetails?
  /// From the last sign-in; kept when the session ends.
  var deviceToken: String?
  /// The server's keys at the last sign-in, or when it began to sign with another one.
  var grantKeys: [GrantKey] = []

  private static func path(_ folder: String) -> String { "\(folder)/.mapstore-client.json" }

  /// Nil where there is no file.
  static func read(_ folder: String) throws -> ClientMemory? {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path(folder))
    } catch let error as JSONFile.Unreadable {
      if error.isMissing {
        if let status = try? FileSystem.status(folder), status.kind != .folder {
          throw MapStoreError(.storage, folder, "is not a folder", remedy: "name the folder of the maps")
        }
        return nil
      }
      throw BundleError(
        .readFailed, path: path(folder), "cannot be read: \(error)",
        remedy: "check its permissions, or remove it and sign in again")
    }
    do {
      return try WireJSON.decode(ClientMemory.self, from: bytes)
    } catch {
      throw BundleError(.malformed, path: path(folder), "\(error)", remedy: "remove it and sign in again")
    }
  }

  func write(_ folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = Self.path(folder)
    // Created with private permissions from the start, because it holds a session.
    let before = umask(0o077)
    defer { umask(before) }
    try OutputFile.write(try WireJSON.encode(self), to: path, replacing: true)
  }
}
