import MapStoreWire
public import RegionCatalog

extension RegionShelf {
  /// Installs what is needed of a region for some ground: parcels one by one, the overview first, each of use as soon as it is there; or the whole of a region that is not split.
  ///
  /// - Parameter onInstalled: told of each parcel that is there, also when it was before.
  /// - Returns: all of them; empty where the region has nothing of the ground.
  /// - Throws: as ``install(_:from:onProgress:)``. Parcels that were installed before that stay.
  @discardableResult
  public func install(
    _ region: String, around ground: MapGround, from client: StoreClient,
    onProgress: @escaping ProgressHandler = { _ in }, onInstalled: @Sendable (InstalledFile) -> Void = { _ in }
  ) async throws -> [InstalledFile] {
    let details = try await client.region(region).region
    // What is there as a whole has all its parcels.
    if let whole = try state.installed(ShelfPart(region: region)), whole.edition == details.edition {
      onInstalled(whole)
      return [whole]
    }
    var installed: [InstalledFile] = []
    for file in details.files(covering: ground) {
      let part = ShelfPart(region: region, parcel: file.kind == .whole ? nil : file.file)
      let done = try await install(part, from: client, onProgress: onProgress)
      installed.append(done)
      onInstalled(done)
    }
    await vouch(for: region, from: client)
    return installed
  }
}
