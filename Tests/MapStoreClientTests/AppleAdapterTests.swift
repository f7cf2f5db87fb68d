import Foundation
import MapStoreClient
import MapStoreWire
import RegionCatalog
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The files of `MapStoreClient` for Apple's platforms.
@Suite(.ownThread) struct AppleAdapterTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device
  private let region: Catalog.Region

  init() throws {
    shop = try SampleShop()
    region = try shop.publish("alps")
    store = try ChaosStore(shop, owned: ["alps"])
    device = try Device(store)
  }

  private func transport(_ folder: TemporaryFolder) throws -> BackgroundTransport {
    try BackgroundTransport(.default, folder: URL(fileURLWithPath: folder.file("arrived")))
  }

  /// With Foundation's own `URLSession`, in the foreground.
  @Test func aSessionOfFoundationsInstalls() async throws {
    store.fault.withLock { $0 = { $0.number == 1 ? .cut(90_000) : .none } }
    let transport = try transport(device.folder)
    let manager = try device.manager { $0.transport = transport }
    try await manager.install("alps", from: device.client)
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(region.file))
    #expect(try FileManager.default.contentsOfDirectory(atPath: device.folder.file("arrived")) == [])
    transport.invalidate()
  }

  /// What has arrived while the app did not run is used, and not requested again.
  @Test func whatHasArrivedIsFound() async throws {
    let folder = device.folder
    let transport = try transport(folder)
    let key = "\(region.sha256)-0-\(region.bytes)"
    _ = try folder.write("arrived/\(key).body", bytes: shop.bytes(region.file))
    _ = try folder.write("arrived/\(key).head", #"{"status":200,"fields":{}}"#)
    let manager = try device.manager { $0.transport = transport }
    try await manager.install("alps", from: device.client)
    #expect(store.book.withLock { $0.files.isEmpty })
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("arrived")) == [])
    transport.invalidate()
  }

  @Test func aCancelledInstallEndsItsTransfer() async throws {
    store.fault.withLock { $0 = { _ in .hang(1000) } }
    let transport = try transport(device.folder)
    let manager = try device.manager { $0.transport = transport }
    let client = device.client
    let install = Task { try await manager.install("alps", from: client) }
    #expect(try await onThread { eventually { store.book.withLock { !$0.files.isEmpty } } })
    install.cancel()
    await #expect(throws: CancellationError.self) { try await install.value }
    transport.invalidate()
  }

  /// Before, while and after the running transfers are listed: nobody waits for a transfer that was ended.
  @Test(arguments: [0, 0.001, 0.01, 0.1]) func aCancelledRequestDoesNotWait(_ delay: Double) async throws {
    store.fault.withLock { $0 = { _ in .hang(1000) } }
    let transport = try transport(device.folder)
    let address = "\(device.client.address)/v1/files/any"
    let request = FileRequest(url: address, fields: [], key: "any", usesMetered: true, usesConstrained: true)
    let ended = Locked(false)
    let task = Task {
      defer { ended.withLock { $0 = true } }
      if delay == 0 { withUnsafeCurrentTask { $0?.cancel() } }
      return try await transport.get(request) { _ in }
    }
    try await Task.sleep(for: .seconds(delay))
    task.cancel()
    #expect(try await onThread { eventually(seconds: 10) { ended.withLock { $0 } } })
    transport.invalidate()
  }

  /// Requests with a range hang; their cancellation does not end what is requested next under the same key.
  @Test func aRequestAfterACancelledOneHasATransferOfItsOwn() async throws {
    store.fault.withLock { $0 = { $0.range == nil ? .none : .hang(1000) } }
    let transport = try transport(device.folder)
    let address = "\(device.client.address)/v1/files/\(region.file)"
    func request(_ fields: [(name: String, value: String)]) -> FileRequest {
      FileRequest(url: address, fields: fields, key: "next", usesMetered: true, usesConstrained: true)
    }
    let expected = try shop.bytes(region.file)
    for _ in 0..<20 {
      let first = request([("Range", "bytes=0-")])
      let task = Task { _ = try await transport.get(first) { _ in } }
      #expect(try await onThread { eventually { transport.waitingCount(for: "next") == 1 } })
      // The cancellation is not waited for.
      Thread.detachNewThread { task.cancel() }
      #expect(try await onThread { eventually { transport.waitingCount(for: "next") == 0 } })
      var bytes: [UInt8] = []
      for try await piece in try await transport.get(request([]), received: { _ in }).body { bytes += piece }
      #expect(bytes == expected)
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    transport.invalidate()
  }

  /// Before, while and after the running transfers are listed: a session that is gone is asked for nothing.
  @Test func aTransportMayBeInvalidatedWhileARequestStarts() async throws {
    let address = "\(device.client.address)/v1/files/\(region.file)"
    let expected = try shop.bytes(region.file)
    for number in 0..<50 {
      let transport = try transport(device.folder)
      let request = FileRequest(
        url: address, fields: [], key: "ending-\(number)", usesMetered: true, usesConstrained: true)
      let task = Task {
        var bytes: [UInt8] = []
        for try await piece in try await transport.get(request, received: { _ in }).body { bytes += piece }
        return bytes
      }
      try await Task.sleep(for: .microseconds(number * 20))
      transport.invalidate()
      // What has started goes on.
      do {
        #expect(try await task.value == expected)
      } catch let error as ConnectionFault {
        #expect("\(error)".contains("the transport was invalidated"), "\(error)")
      }
    }
  }

  /// Tile packs with equal bytes have one key: one transfer serves all that wait, and outlasts one that does not.
  @Test(arguments: [false, true]) func equalFilesAreOneTransfer(_ cancelsOne: Bool) async throws {
    let transport = try transport(device.folder)
    let request = FileRequest(
      url: "\(device.client.address)/v1/files/\(region.file)", fields: [], key: "equal", usesMetered: true,
      usesConstrained: true)
    let results = Locked<[Int: Result<[UInt8], any Error>]>([:])
    let tasks = Locked<[Task<Void, Never>]>([])
    store.fault.withLock { fault in
      fault = { _ in
        .callback(1000) {
          _ = eventually(seconds: 10) { transport.waitingCount(for: "equal") == 2 }
          guard cancelsOne else { return }
          tasks.withLock { $0.first?.cancel() }
          _ = eventually(seconds: 10) { transport.waitingCount(for: "equal") == 1 }
        }
      }
    }
    for number in 0..<2 {
      let task = Task {
        do {
          var bytes: [UInt8] = []
          for try await piece in try await transport.get(request, received: { _ in }).body { bytes += piece }
          results.withLock { [bytes] in $0[number] = .success(bytes) }
        } catch {
          results.withLock { $0[number] = .failure(error) }
        }
      }
      tasks.withLock { $0.append(task) }
    }
    try #require(try await onThread { eventually(seconds: 30) { results.withLock { $0.count } == 2 } })
    let expected = try shop.bytes(region.file)
    let (first, second) = results.withLock { ($0[0], $0[1]) }
    #expect(try second?.get() == expected)
    if cancelsOne {
      #expect(throws: CancellationError.self) { try first?.get() }
    } else {
      #expect(try first?.get() == expected)
    }
    #expect(store.book.withLock { $0.files.count } == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: device.folder.file("arrived")) == [])
    transport.invalidate()
  }

  @Test func anInvalidatedTransportFetchesNothing() async throws {
    let transport = try transport(device.folder)
    transport.invalidate()
    let manager = try device.manager { $0.transport = transport }
    await #expect { try await manager.install("alps", from: device.client) } throws: {
      ($0 as? MapStoreError)?.message.contains("the transport was invalidated") == true
    }
    #expect(store.book.withLock { $0.files.isEmpty })
  }

  #if os(Linux)
    /// With declarations of what Apple's frameworks have, in Tests/StandIns.
    @Test func theFilesForApplesFrameworksAreTypeCorrect() throws {
      let folder = try TemporaryFolder()
      let build = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
      var flags = ["-swift-version", "6", "-parse-as-library", "-I", folder.path, "-I", "\(build)/Modules"]
      let manager = FileManager.default
      func below(_ folder: String) throws -> [String] { try manager.contentsOfDirectory(atPath: folder).sorted() }
      var maps = try below(build).map { "\(build)/\($0)/module.modulemap" }
      var places = try below(ProjectFiles.path("Sources")).map { ProjectFiles.path("Sources/\($0)") }
      let checkouts = ProjectFiles.path(".build/checkouts")
      for package in try below(checkouts) {
        let targets = (try? below("\(checkouts)/\(package)/Sources")) ?? []
        places += targets.map { "\(checkouts)/\(package)/Sources/\($0)" }
      }
      for place in places {
        flags += ["-Xcc", "-I\(place)/include"]
        maps += ["\(place)/module.modulemap", "\(place)/include/module.modulemap"]
      }
      for map in maps where manager.fileExists(atPath: map) { flags += ["-Xcc", "-fmodule-map-file=\(map)"] }
      for module in ["StoreKit", "Network", "CryptoKit"] {
        let standIn = ProjectFiles.path("Tests/StandIns/\(module).swift")
        try expectSuccess(
          flags + ["-emit-module", "-module-name", module, standIn, "-o", folder.file("\(module).swiftmodule")])
      }
      // They are sources of the module, which is imported here.
      let names = ["Apple/AppStoreQueue", "Apple/NetworkPath+System", "State/GrantVerifier"]
      let copies = try names.map { name in
        let text = try String(
          contentsOfFile: ProjectFiles.path("Sources/MapStoreClient/\(name).swift"), encoding: .utf8)
        let level = name.hasPrefix("Apple/") ? "public" : "@testable"
        return try folder.write("\(name.split(separator: "/")[1]).swift", "\(level) import MapStoreClient\n" + text)
      }
      // They use what only this package may, which SwiftPM calls by its folder.
      let package = ProjectFiles.root.split(separator: "/").last?.lowercased() ?? ""
      let identity = String(package.map { $0.isLetter || $0.isNumber ? $0 : "_" })
      flags += ["-package-name", identity, "-enable-upcoming-feature", "InternalImportsByDefault"]
      try expectSuccess(
        flags + ["-typecheck", "-module-name", "Adapters", ProjectFiles.path("Sources/Support/SHA256Hash.swift")]
          + copies)
    }

    /// The compiler has no complaint, not even a warning.
    private func expectSuccess(_ arguments: [String]) throws {
      let result = try #require(try run("env", ["swiftc"] + arguments))
      #expect(result.status == 0 && !result.output.contains("warning:"), "\(result.output)")
    }
  #endif
}
