import ArgumentParser
import CommandSupport
import Foundation
import MapStoreClient
import MapStoreWire
import Synchronization

/// The shelf in a folder, and the store that it belongs to.
struct ClientDevice: Sendable {
  let folder: String
  let shelf: RegionShelf
  let client: StoreClient

  init(_ flags: ClientFlags, options: OfflineRegionOptions) throws {
    let remembered = try ClientMemory.read(flags.folder)
    guard let server = flags.server ?? remembered?.server else {
      printError("mapstore: \(flags.folder) belongs to no store yet; name one with --server")
      throw ExitCode(2)
    }
    // Another store's session and keys mean nothing here.
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
          // The command goes on without; the next one has to sign in.
          try? memory.write(folder)
        }
      })
    client = StoreClient(address: server, session: session, retry: options.retry)
    let grants = OfflineGrants.Rule(
      keys: known.grantKeys,
      keysChanged: { keys in
        box.memory.withLock { memory in
          memory.grantKeys = keys
          // The next command asks for them again.
          try? memory.write(folder)
        }
      })
    shelf = try RegionShelf(folder: folder, options: options, grants: grants)
  }

  /// A lock that closures can share.
  private final class MemoryBox: Sendable {
    let memory: Mutex<ClientMemory>
    init(_ memory: ClientMemory) { self.memory = Mutex(memory) }
  }

  /// Runs what may take long; a signal ends it in order, with what was loaded noted.
  func interruptibly<Value: Sendable>(_ work: @escaping @Sendable (ClientDevice) async throws -> Value) async throws
    -> Value
  {
    let device = self
    let task = Task { try await work(device) }
    CommandSignals.watch.whenStopped { task.cancel() }
    defer { CommandSignals.watch.stop() }
    do {
      return try await task.value
    } catch {
      guard let signal = CommandSignals.watch.received else { throw error }
      printError("mapstore: interrupted; what was loaded stays, and sync goes on with it")
      throw ExitCode(128 + signal)
    }
  }
}

extension ClientFlags {
  /// - Throws: `ExitCode` 2 when no server is known.
  func device(_ options: OfflineRegionOptions = OfflineRegionOptions()) throws -> ClientDevice {
    try ClientDevice(self, options: options)
  }
}
